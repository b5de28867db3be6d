package dev.zlayer.engine.job;

import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.check.WarmSupport;
import dev.zlayer.spec.security.SecuritySpec;
import dev.zlayer.spec.storage.StorageSpec;
import java.util.Set;

/**
 * Decides (pure) whose containers may be made ahead though nobody asked for it: those of jobs for
 * which it makes no difference whether that is done now or in a moment.
 */
final class AheadRule {
  /** Policies by which the image is known without asking a registry. */
  private static final Set<PullPolicy> LOCAL = Set.of(PullPolicy.IF_NOT_PRESENT, PullPolicy.NEVER);

  private static final String HARMLESS = "no-new-privileges";

  private AheadRule() {}

  /** Whether no registry is asked for each execution. */
  static boolean local(JobDefinition job) {
    return LOCAL.contains(job.service().image().pullPolicy());
  }

  /** Whether its containers may be made ahead, asked for or not. */
  static boolean allows(JobDefinition job) {
    return job.job().ahead() > 0 || unasked(job);
  }

  private static boolean unasked(JobDefinition job) {
    ServiceSpec service = job.service();
    return !job.claimed()
        && local(job)
        && WarmSupport.obstacle(service).isEmpty()
        && service.storage().stream().allMatch(AheadRule::ownStorage)
        && sameDevices(service.security());
  }

  /**
   * What the execution before may change: an empty volume is filled when a container is created,
   * and what is mounted below a bind mount later is not seen inside.
   */
  private static boolean ownStorage(StorageSpec storage) {
    return switch (storage) {
      case StorageSpec.Anonymous _, StorageSpec.Tmpfs _ -> true;
      case StorageSpec.Bind _, StorageSpec.Named _, StorageSpec.S3 _ -> false;
    };
  }

  /** Devices may be unplugged and profiles be written anew, which nothing would notice. */
  private static boolean sameDevices(SecuritySpec security) {
    return !security.privileged()
        && security.devices().isEmpty()
        && security.securityOpt().stream().allMatch(option -> option.startsWith(HARMLESS));
  }
}

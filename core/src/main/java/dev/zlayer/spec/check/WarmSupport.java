package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.check.SupportCheck.Refusals;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.security.SecuritySettings;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.NetworkMode;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What keeps containers from being created before they are needed; for jobs that ask for it part of
 * {@link SupportCheck}.
 */
public final class WarmSupport {
  private static final String OF_CONTAINER = "container:";

  private static final String HARMLESS = "no-new-privileges";

  private WarmSupport() {}

  static void find(ServiceSpec service, SpecPath path, Refusals refusals) {
    if (service.job().ahead() > 0) {
      SpecPath warm = path.key("job").key("warm");
      obstacle(service).ifPresent(reason -> refusals.add(warm, reason));
    }
  }

  /** Why that is so for a job; empty when its containers can be created ahead. */
  public static Optional<String> obstacle(ServiceSpec service) {
    if (!service.lifecycle().init().steps().isEmpty()) {
      return Optional.of("init steps run before the container of each execution is created");
    }
    if (service.storage().stream().anyMatch(StorageSpec.S3.class::isInstance)) {
      return Optional.of("copies of buckets are made for each execution");
    }
    if (service.resources().gpu().isPresent()) {
      return Optional.of("a GPU would be held by containers that run nothing");
    }
    if (service.wasm().isPresent() || service.serviceType().wasm()) {
      return Optional.of("a WebAssembly module has no process to create ahead");
    }
    boolean joins =
        service.networking().effectiveMode() instanceof NetworkMode.OfContainer
            || Stream.of(service.security().pidMode(), service.security().ipcMode())
                .flatMap(Optional::stream)
                .anyMatch(mode -> mode.startsWith(OF_CONTAINER));
    return joins
        ? Optional.of("the container whose namespaces it shares may restart before it is used")
        : Optional.empty();
  }

  /** Whether nobody can see if a container is created now or in a moment. */
  public static boolean unnoticed(ServiceSpec service) {
    return obstacle(service).isEmpty()
        && service.storage().stream().allMatch(WarmSupport::ownStorage)
        && sameDevices(service.security());
  }

  /**
   * What others change in the meantime: an empty volume is filled when a container is created, and
   * what is mounted below a bind mount later is not seen inside.
   */
  private static boolean ownStorage(StorageSpec storage) {
    return switch (storage) {
      case StorageSpec.Anonymous _, StorageSpec.Tmpfs _ -> true;
      case StorageSpec.Bind _, StorageSpec.Named _, StorageSpec.S3 _ -> false;
    };
  }

  /** Devices may be unplugged and profiles be written anew, which nothing would notice. */
  private static boolean sameDevices(SecuritySettings security) {
    return !security.privileged()
        && security.devices().isEmpty()
        && security.securityOpt().stream().allMatch(option -> option.startsWith(HARMLESS));
  }
}

package dev.zlayer.engine.job;

import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.check.WarmSupport;
import java.util.Set;

/**
 * Decides (pure) whose containers may be made ahead though nobody asked for it: those of jobs for
 * which it makes no difference whether that is done now or in a moment.
 */
final class AheadRule {
  /** Policies by which the image is known without asking a registry. */
  private static final Set<PullPolicy> LOCAL = Set.of(PullPolicy.IF_NOT_PRESENT, PullPolicy.NEVER);

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
    return !job.claimed() && local(job) && WarmSupport.unnoticed(job.service());
  }
}

package dev.zlayer.engine.deployment;

import dev.zlayer.engine.service.Failure;
import java.util.Optional;

/**
 * How waiting for a deployment ended.
 *
 * @param status at the end; empty when the deployment is gone
 * @param service the service or job that the reason is about
 * @param reason what failed, or what was still missing when the time was over
 */
public record WaitResult(
    Outcome outcome,
    Optional<DeploymentStatus> status,
    Optional<String> service,
    Optional<Failure> reason) {
  static WaitResult of(Outcome outcome, DeploymentStatus status, Optional<Blocker> blocker) {
    return new WaitResult(
        outcome,
        Optional.of(status),
        blocker.flatMap(Blocker::service),
        blocker.map(Blocker::failure));
  }

  public static WaitResult removed() {
    return new WaitResult(Outcome.REMOVED, Optional.empty(), Optional.empty(), Optional.empty());
  }

  /**
   * What keeps a deployment from being ready.
   *
   * @param service the service or job that failed; empty for the deployment as a whole
   */
  record Blocker(Optional<String> service, Failure failure) {}

  public enum Outcome {
    /** Everything is as wanted. */
    STABLE,
    /**
     * A service, or a job that services wait for, failed; or a change was taken back; or something
     * has to be done before the removal can end, which is tried further on.
     */
    FAILED,
    /** The deadline passed first. */
    TIMEOUT,
    /** The deployment is gone. */
    REMOVED
  }
}

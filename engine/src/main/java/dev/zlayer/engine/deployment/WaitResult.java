package dev.zlayer.engine.deployment;

import dev.zlayer.engine.service.Failure;
import java.util.Optional;

/**
 * How waiting for a deployment ended.
 *
 * @param status at the end; empty when the deployment is gone
 * @param reason what failed, or what was still missing when the time was over
 */
public record WaitResult(
    Outcome outcome, Optional<DeploymentStatus> status, Optional<Failure> reason) {
  public enum Outcome {
    /** Everything is as wanted. */
    STABLE,
    /** A service, or a job that services wait for, failed; or a change was taken back. */
    FAILED,
    /** The deadline passed first. */
    TIMEOUT,
    /** The deployment is gone. */
    REMOVED
  }
}

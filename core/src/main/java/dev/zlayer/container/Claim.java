package dev.zlayer.container;

/**
 * What a container needs to run when only one of its kind may run in a whole cluster: a claim that
 * its node renews, and that no other node has. A label names it on the container.
 */
public final class Claim {
  /**
   * Names the claim; such a container starts only under a watchdog, while its node has the claim.
   */
  public static final String LABEL = "com.zlayer.claim";

  private static final String STOPPED = "stopped: ";

  private Claim() {}

  /** The claim of a service or job, the same for all of its containers. */
  public static String of(String deployment, String service) {
    return deployment + "/" + service;
  }

  /** How a container ended whose watchdog ended it. */
  public static ExitStatus stopped(String reason) {
    return new ExitStatus.RuntimeError(STOPPED + reason);
  }

  /** Whether a watchdog ended it, which is no fault of its own. */
  public static boolean stopped(ExitStatus status) {
    return status instanceof ExitStatus.RuntimeError(String reason) && reason.startsWith(STOPPED);
  }
}

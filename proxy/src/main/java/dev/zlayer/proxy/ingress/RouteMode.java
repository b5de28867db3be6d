package dev.zlayer.proxy.ingress;

import java.time.Duration;

/**
 * How the ingress answers for a service that an operator has set aside.
 *
 * @param hold how long requests wait for the service to be resumed; zero answers at once
 */
public record RouteMode(Kind kind, Duration hold) {
  /** What requests get. */
  public enum Kind {
    /** They wait, and get 503 when the wait was too long. */
    PAUSED,
    /** They get 503 at once. */
    MAINTENANCE
  }

  public static RouteMode paused(Duration hold) {
    return new RouteMode(Kind.PAUSED, hold);
  }

  public static RouteMode maintenance() {
    return new RouteMode(Kind.MAINTENANCE, Duration.ZERO);
  }
}

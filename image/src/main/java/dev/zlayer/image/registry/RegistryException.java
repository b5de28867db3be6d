package dev.zlayer.image.registry;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A registry did not give what was asked for. */
public final class RegistryException extends IOException {
  /** What it means for the next step. */
  public enum Problem {
    /** It answered that it has no such thing. */
    ABSENT,
    /** It does not let us. */
    DENIED,
    /** No connection came about. */
    UNREACHABLE,
    /** Its certificate, or its idea of TLS, is not acceptable. */
    TLS,
    /** It is busy or broken for now. */
    BUSY,
    /** The connection broke or fell silent on the way. */
    BROKEN,
    /** It answered something that no registry should. */
    UNSOUND,
    /** The operator does not want it to be asked. */
    OFFLINE;

    /** Whether the same question may get another answer soon. */
    boolean passing() {
      return this == BUSY || this == BROKEN;
    }

    /** Whether nothing was learned about the image, only about the way to it. */
    public boolean ofTheWay() {
      return switch (this) {
        case UNREACHABLE, TLS, BUSY, BROKEN, OFFLINE -> true;
        case ABSENT, DENIED, UNSOUND -> false;
      };
    }
  }

  private final Problem problem;
  private final Optional<Duration> retryAfter;

  RegistryException(Problem problem, String reason) {
    this(problem, reason, Optional.empty(), null);
  }

  RegistryException(Problem problem, String reason, @Nullable Throwable cause) {
    this(problem, reason, Optional.empty(), cause);
  }

  RegistryException(
      Problem problem, String reason, Optional<Duration> retryAfter, @Nullable Throwable cause) {
    super(reason, cause);
    this.problem = problem;
    this.retryAfter = retryAfter;
  }

  public Problem problem() {
    return problem;
  }

  /** How long the registry asked us to wait. */
  Optional<Duration> retryAfter() {
    return retryAfter;
  }
}

package dev.zlayer.engine.job;

import dev.zlayer.container.ExitStatus;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Where an execution stands.
 *
 * <pre>
 *   Pending -> Initializing -> Running [-> Uploading] -> Completed | Failed
 *      ^            |             |            |
 *      +------------+-------------+------------+   another attempt
 *   Pending, Initializing, Running -> Failed | Cancelled;  Uploading -> Cancelled
 * </pre>
 */
public sealed interface ExecutionStatus {
  /** It waits: for its turn, for others, or for its next attempt. */
  record Pending() implements ExecutionStatus {}

  /** Its image, init steps and container are being made; the main process has not been started. */
  record Initializing() implements ExecutionStatus {}

  /** Its main process runs, or is about to. */
  record Running() implements ExecutionStatus {}

  /**
   * Its main process ended, and its files are not all in their bucket yet. The result is known, no
   * deadline applies, and the container is kept until the upload is done or somebody cancels it.
   */
  record Uploading(ExitStatus exit) implements ExecutionStatus {}

  /** It ended as wanted. */
  record Completed(int code, Duration duration) implements ExecutionStatus {}

  /** It did not; {@code exit} tells how the process of the last attempt ended, if one did. */
  record Failed(String reason, Optional<ExitStatus> exit) implements ExecutionStatus {}

  /** Somebody ended it. */
  record Cancelled() implements ExecutionStatus {}

  default boolean finished() {
    return switch (this) {
      case Pending _, Initializing _, Running _, Uploading _ -> false;
      case Completed _, Failed _, Cancelled _ -> true;
    };
  }

  /** Whether it takes one of the places that limits count. */
  default boolean active() {
    return this instanceof Initializing || this instanceof Running || this instanceof Uploading;
  }

  default String word() {
    return switch (this) {
      case Pending _ -> "pending";
      case Initializing _ -> "initializing";
      case Running _ -> "running";
      case Uploading _ -> "uploading";
      case Completed _ -> "completed";
      case Failed _ -> "failed";
      case Cancelled _ -> "cancelled";
    };
  }

  /** The exit code as a shell would show it. */
  default OptionalInt exitCode() {
    return switch (this) {
      case Completed(int code, _) -> OptionalInt.of(code);
      case Uploading(var exit) -> exit.exitCode();
      case Failed(_, var exit) -> exit.map(ExitStatus::exitCode).orElse(OptionalInt.empty());
      case Pending _, Initializing _, Running _, Cancelled _ -> OptionalInt.empty();
    };
  }

  /** For people: {@code completed(0)}, {@code failed(3)}, {@code running}. */
  default String text() {
    OptionalInt code = exitCode();
    return code.isPresent() ? "%s(%d)".formatted(word(), code.getAsInt()) : word();
  }
}

package dev.zlayer.container;

import dev.zlayer.json.StoredName;
import java.util.OptionalInt;

/** How a container's process ended. What is not known is said to be unknown, never guessed. */
public sealed interface ExitStatus {
  /** It returned this code. */
  @StoredName("Code")
  record Code(int code) implements ExitStatus {}

  /** A signal ended it. */
  @StoredName("Signalled")
  record Signalled(Signal signal) implements ExitStatus {}

  /** The kernel killed it for exceeding its memory limit. */
  @StoredName("OutOfMemory")
  record OutOfMemory() implements ExitStatus {}

  /** The runtime could not run it. */
  @StoredName("RuntimeError")
  record RuntimeError(String reason) implements ExitStatus {}

  /** It is gone and nobody recorded how, for example because the machine lost power. */
  @StoredName("Unknown")
  record Unknown(String reason) implements ExitStatus {}

  default boolean success() {
    return this instanceof Code(int code) && code == 0;
  }

  /** The code a shell would show: 128 + n for a signal; none when it is not known. */
  default OptionalInt exitCode() {
    return switch (this) {
      case Code(int code) -> OptionalInt.of(code);
      case Signalled(Signal signal) -> OptionalInt.of(128 + signal.number());
      case OutOfMemory() -> OptionalInt.of(128 + Signal.KILL.number());
      case RuntimeError _, Unknown _ -> OptionalInt.empty();
    };
  }

  /** For people: {@code exit code 3}, {@code killed by SIGKILL}, {@code out of memory}. */
  default String text() {
    return switch (this) {
      case Code(int code) -> "exit code " + code;
      case Signalled(Signal signal) -> "killed by " + signal;
      case OutOfMemory() -> "out of memory";
      case RuntimeError(String reason) -> "runtime error: " + reason;
      case Unknown(String reason) -> "unknown: " + reason;
    };
  }
}

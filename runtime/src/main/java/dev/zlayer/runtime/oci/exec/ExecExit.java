package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.lifecycle.ExitNotes;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.LongSupplier;

/**
 * Tells the exit of the command from a failure of the OCI runtime to run it, which speaks through
 * the same exit code and, only then, through its log. Pure.
 */
public final class ExecExit {
  private static final int NOT_FOUND = 127;
  private static final int NOT_EXECUTABLE = 126;

  private ExecExit() {}

  /** {@code runtimeLog} is what the runtime wrote to its log. */
  public static ExitStatus of(int code, String runtimeLog) {
    Optional<String> problem = runtimeLog.lines().flatMap(line -> error(line).stream()).findFirst();
    if (code != 0 && problem.isPresent()) {
      return failure(problem.get());
    }
    return ExitNotes.status(code);
  }

  /** How the process with this number ended, if that is what a line of the runtime's log says. */
  static OptionalInt reported(String line, LongSupplier pid) {
    if (!line.contains("process exited")) {
      return OptionalInt.empty();
    }
    try {
      Json entry = JsonText.parse(line);
      Optional<Long> status = entry.at("status").integer();
      return entry.at("pid").integer().filter(number -> number == pid.getAsLong()).isPresent()
              && status.isPresent()
          ? OptionalInt.of(status.get().intValue())
          : OptionalInt.empty();
    } catch (AgentException.InvalidSpec _) {
      return OptionalInt.empty();
    }
  }

  private static ExitStatus failure(String problem) {
    OptionalInt code = notStarted(problem);
    return code.isPresent()
        ? new ExitStatus.Code(code.getAsInt())
        : new ExitStatus.RuntimeError(problem);
  }

  /** 127 or 126 when an OCI runtime says that the program is absent or cannot be executed. */
  public static OptionalInt notStarted(String problem) {
    String text = problem.toLowerCase(Locale.ROOT);
    boolean starting = text.contains("exec") || text.contains("chdir");
    if (starting && (text.contains("not found") || text.contains("no such file"))) {
      return OptionalInt.of(text.contains("chdir") ? NOT_EXECUTABLE : NOT_FOUND);
    }
    if (starting
        && (text.contains("permission denied")
            || text.contains("not permitted")
            || text.contains("format error")
            || text.contains("is a directory"))) {
      return OptionalInt.of(NOT_EXECUTABLE);
    }
    return OptionalInt.empty();
  }

  private static Optional<String> error(String line) {
    try {
      Json entry = JsonText.parse(line);
      return entry.at("level").string().filter("error"::equals).isPresent()
          ? entry.at("msg").string()
          : Optional.empty();
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }
}

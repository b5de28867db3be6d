package dev.zlayer.runtime.wsl;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Scripts for the distribution's shell, each one process with a deadline. Every call takes Windows
 * a moment, so what belongs together is one script.
 */
record WslShell(WslDistribution distribution, Duration limit) {
  private static final Map<String, String> ENVIRONMENT =
      Map.of(
          "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          "LC_ALL", "C.UTF-8");

  /** What a script printed; its words are {@code $1}, {@code $2} and so on. */
  String run(String script, String... words) throws IOException, InterruptedException {
    CommandResult result =
        Processes.run(distribution.inside(command(script, words)), Deadline.after(limit));
    if (!result.success()) {
      throw new IOException(
          "in the WSL distribution '%s': %s"
              .formatted(distribution.name(), WslList.lastLine(result)));
    }
    return result.stdout();
  }

  /** The lines that a script printed. */
  List<String> lines(String script, String... words) throws IOException, InterruptedException {
    return run(script, words).lines().toList();
  }

  static Command command(String script, String... words) {
    var arguments = new ArrayList<>(List.of("/bin/sh", "-euc", script, "sh"));
    arguments.addAll(List.of(words));
    return Command.of(arguments).withEnv(ENVIRONMENT);
  }
}

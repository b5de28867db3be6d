package dev.zlayer.testkit.cluster;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Programs of this machine, and its clock. */
final class Host {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private Host() {}

  /** Seconds since the machine started, which is what containers write, too. */
  static double now() {
    try {
      String uptime = Files.readString(Path.of("/proc/uptime"));
      return Double.parseDouble(uptime.substring(0, uptime.indexOf(' ')));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  static CommandResult run(String... command) throws InterruptedException {
    return Processes.run(Command.of(command), Deadline.after(LIMIT));
  }

  static String check(String... command) throws InterruptedException {
    return check(List.of(command));
  }

  /** Insists on success. */
  static String check(List<String> command) throws InterruptedException {
    return Processes.check(Command.of(command), Deadline.after(LIMIT)).stdout();
  }
}

package dev.zlayer.host.linux;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.regex.Pattern;

/**
 * What the kernel reported about control groups that do not exist any more: systemd removes the
 * group of a container as soon as its last process has ended, and its counters with it. The monitor
 * is no help: conmon before 2.2 stops looking at the first event that is not a kill.
 */
public final class KernelLog {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** The times of the log are computed from the time since boot, which drifts a little. */
  private static final Duration DRIFT = Duration.ofSeconds(2);

  private KernelLog() {}

  /** Whether a process of the group was killed for want of memory; false when nobody can tell. */
  public static boolean outOfMemory(String group, Instant since) throws InterruptedException {
    try {
      CommandResult log =
          Processes.run(
              Command.of("dmesg", "--kernel", "--time-format", "iso"), Deadline.after(LIMIT));
      return log.success() && reports(log.stdout(), group, since);
    } catch (AgentException _) {
      return false; // there is no such program, or it took too long
    }
  }

  static boolean reports(String log, String group, Instant since) {
    // crun on cgroup v2 puts the processes into a group below the one it is given
    var mark = Pattern.compile("oom-kill:.*,task_memcg=" + Pattern.quote(group) + "(/[^,]*)?,");
    return log.lines()
        .filter(line -> mark.matcher(line).find())
        .anyMatch(line -> !time(line).isBefore(since.minus(DRIFT)));
  }

  private static Instant time(String line) {
    String first = line.substring(0, Math.max(0, line.indexOf(' '))).replace(',', '.');
    try {
      return OffsetDateTime.parse(first).toInstant();
    } catch (DateTimeParseException _) {
      return Instant.MIN;
    }
  }
}

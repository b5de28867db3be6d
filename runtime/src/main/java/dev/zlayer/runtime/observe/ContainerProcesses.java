package dev.zlayer.runtime.observe;

import dev.zlayer.container.IdRange;
import dev.zlayer.container.ProcessTable;
import dev.zlayer.host.linux.ProcessFacts;
import dev.zlayer.host.linux.ProcessGroup;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Tells the processes of a control group, those that were put in by exec and their children
 * included, with the columns of {@code ps -ef} and the host's numbers.
 */
public final class ContainerProcesses {
  private static final List<String> TITLES =
      List.of("UID", "PID", "PPID", "C", "STIME", "TTY", "TIME", "CMD");
  private static final DateTimeFormatter CLOCK =
      DateTimeFormatter.ofPattern("HH:mm", Locale.ROOT).withZone(ZoneOffset.UTC);

  private ContainerProcesses() {}

  /**
   * Lists them.
   *
   * @throws java.nio.file.NoSuchFileException the group does not exist any more
   */
  public static ProcessTable list(ProcessGroup group, Instant now, Optional<IdRange> ids)
      throws IOException {
    var rows = new ArrayList<List<String>>();
    for (long pid : group.processes()) {
      ProcessFacts.find(pid).ifPresent(process -> rows.add(row(process, now, ids)));
    }
    return new ProcessTable(TITLES, rows);
  }

  static List<String> row(ProcessFacts process, Instant now, Optional<IdRange> ids) {
    long user = ids.map(range -> range.inside(process.user())).orElse(process.user());
    long age = Math.max(1, Duration.between(process.started(), now).toMillis());
    return List.of(
        // names would be those of the host, which are not the container's
        user == 0 ? "root" : Long.toString(user),
        Long.toString(process.pid()),
        Long.toString(process.parent()),
        Long.toString(Math.min(99, process.cpuTime().toMillis() * 100 / age)),
        CLOCK.format(process.started()),
        process.terminal() == 0 ? "?" : terminal(process.terminal()),
        time(process.cpuTime()),
        process.command());
  }

  /** Pseudo terminals have the majors from 136 on, 256 each. */
  private static String terminal(int device) {
    int major = (device >> 8) & 0xfff;
    int minor = (device & 0xff) | ((device >> 12) & 0xfff00);
    return major >= 136 && major < 144 ? "pts/" + ((major - 136) * 256 + minor) : "tty";
  }

  private static String time(Duration used) {
    return "%02d:%02d:%02d".formatted(used.toHours(), used.toMinutesPart(), used.toSecondsPart());
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What the kernel tells about a process, in the host's own numbers.
 *
 * @param user the effective user's number
 * @param terminal the device it is controlled by, 0 for none
 * @param command its arguments, or its name in brackets when it has none
 */
public record ProcessFacts(
    long pid,
    long parent,
    long user,
    Duration cpuTime,
    Instant started,
    int terminal,
    String command) {
  /** The unit of times under /proc is fixed to this on all machines we know. */
  private static final int TICKS_PER_SECOND = 100;

  /** Of a command line: thousands of processes with long ones must not exhaust the memory. */
  static final int SHOWN_BYTES = 4096;

  /** Empty when there is no such process. */
  public static Optional<ProcessFacts> find(long pid) throws IOException {
    Path directory = Path.of("/proc", Long.toString(pid));
    try {
      return Optional.of(
          parse(
              Files.readString(directory.resolve("stat"), StandardCharsets.ISO_8859_1),
              Files.readAllLines(directory.resolve("status"), StandardCharsets.ISO_8859_1),
              arguments(directory),
              bootTime()));
    } catch (IOException e) {
      if (!Files.exists(directory)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** One byte more than is shown, however long a process of a container has made them. */
  private static byte[] arguments(Path directory) throws IOException {
    try (var in = Files.newInputStream(directory.resolve("cmdline"))) {
      return in.readNBytes(SHOWN_BYTES + 1);
    }
  }

  /** When this host was started; the kernel counts the start of processes from here. */
  private static long bootTime() throws IOException {
    return CgroupText.keyed(Files.readString(Path.of("/proc/stat")), "btime");
  }

  static ProcessFacts parse(String stat, List<String> status, byte[] arguments, long bootSeconds) {
    // the name stands in parentheses and may itself contain some, and blanks
    int open = stat.indexOf('(');
    int close = stat.lastIndexOf(')');
    List<String> rest = List.of(stat.substring(close + 2).strip().split(" ", -1));
    long cpuTicks = Long.parseLong(rest.get(11)) + Long.parseLong(rest.get(12));
    long startTicks = Long.parseLong(rest.get(19));
    return new ProcessFacts(
        Long.parseLong(stat.substring(0, open).strip()),
        Long.parseLong(rest.get(1)),
        Machine.effectiveUser(status),
        Duration.ofMillis(cpuTicks * 1000 / TICKS_PER_SECOND),
        Instant.ofEpochSecond(bootSeconds).plusMillis(startTicks * 1000 / TICKS_PER_SECOND),
        Integer.parseInt(rest.get(4)),
        command(stat.substring(open + 1, close), arguments));
  }

  private static String command(String name, byte[] arguments) {
    int length = Math.min(arguments.length, SHOWN_BYTES);
    String text =
        new String(arguments, 0, length, StandardCharsets.UTF_8).replace('\0', ' ').strip();
    if (text.isEmpty()) {
      return "[" + name + "]";
    }
    return length < arguments.length ? text + "..." : text;
  }
}

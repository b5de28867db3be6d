package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The processes of one pid namespace: who has no control group is known by that. Counted one by
 * one, so what processes used that have ended and were not waited for is missing.
 *
 * @param first one of them
 */
public record NamespaceProcesses(long first) implements ProcessGroup {
  private static final Path PROC = Path.of("/proc");
  private static final long TICK_NANOS = 10_000_000; // USER_HZ is 100 on every system
  private static final int USER_TIME = 11;
  private static final int CHILDREN_SYSTEM_TIME = 14;

  @Override
  public List<Long> processes() throws IOException {
    Path namespace = namespace(first);
    var found = new ArrayList<Long>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(PROC, "[0-9]*")) {
      for (Path process : all) {
        long pid = Long.parseLong(process.getFileName().toString());
        try {
          if (namespace(pid).equals(namespace)) {
            found.add(pid);
          }
        } catch (IOException _) {
          // it ended, or is not ours
        }
      }
    }
    found.sort(null);
    return found;
  }

  @Override
  public CgroupUsage usage() throws IOException {
    List<Long> processes = processes();
    if (processes.isEmpty()) {
      throw new NoSuchFileException(PROC.resolve(Long.toString(first)).toString());
    }
    long cpu = 0;
    long memory = 0;
    long read = 0;
    long written = 0;
    for (long pid : processes) {
      Path process = PROC.resolve(Long.toString(pid));
      try {
        cpu += cpuNanos(Files.readString(process.resolve("stat")), schedule(process));
        String status = Files.readString(process.resolve("status"));
        memory += 1024 * number(status, "RssAnon:");
        memory += 1024 * number(status, "RssShmem:");
        String io = Files.readString(process.resolve("io"));
        read += number(io, "read_bytes:");
        written += number(io, "write_bytes:");
      } catch (IOException _) {
        // it ended meanwhile
      }
    }
    return new CgroupUsage(
        cpu,
        memory,
        OptionalLong.empty(),
        processes.size(),
        OptionalLong.empty(),
        read,
        written,
        0);
  }

  /**
   * All threads and children, but in ticks of 10 ms, or the first thread alone to the nanosecond:
   * whichever is more, so that a short life is not none.
   */
  static long cpuNanos(String stat, String schedule) {
    long first = schedule.isEmpty() ? 0 : Long.parseLong(schedule.split(" ", 2)[0]);
    return Math.max(ticks(stat) * TICK_NANOS, first);
  }

  /** A kernel may be without it. */
  private static String schedule(Path process) throws IOException {
    Path file = process.resolve("schedstat");
    return Files.exists(file) ? Files.readString(file) : "";
  }

  /** User and system time, its own and that of children it waited for; the name may have blanks. */
  static long ticks(String stat) {
    String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    long sum = 0;
    for (int i = USER_TIME; i <= CHILDREN_SYSTEM_TIME; i++) {
      sum += Long.parseLong(words[i]);
    }
    return sum;
  }

  /** The number in the line that begins with the key; 0 without one. */
  static long number(String text, String key) {
    return text.lines()
        .filter(line -> line.startsWith(key))
        .map(line -> line.substring(key.length()).strip().split(" ", -1)[0])
        .mapToLong(Long::parseLong)
        .findFirst()
        .orElse(0);
  }

  private static Path namespace(long pid) throws IOException {
    return Files.readSymbolicLink(PROC.resolve(Long.toString(pid)).resolve("ns/pid"));
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * One reading of what this machine uses. Counters grow from its start.
 *
 * @param cpuSeconds of all processors together, without idle time
 * @param memoryBytes without what the kernel can take back
 * @param receivedBytes over interfaces that lead out of the machine: neither bridges nor the ends
 *     of containers
 * @param diskUsedBytes of the file system of a directory
 */
public record NodeUsage(
    Instant time,
    double cpuSeconds,
    long memoryBytes,
    long receivedBytes,
    long sentBytes,
    long readBytes,
    long writtenBytes,
    long diskUsedBytes) {
  private static final Path PROC = Path.of("/proc");
  private static final Path INTERFACES = Path.of("/sys/class/net");

  /** The kernel counts in hundredths of a second, whatever its own clock does. */
  private static final double TICKS_PER_SECOND = 100;

  /** Of {@code /proc/stat}: idle and waiting for the disk. */
  private static final Set<Integer> IDLE = Set.of(4, 5);

  /** Guests are counted among user time already. */
  private static final int LAST_TIME = 8;

  private static final long KIB = 1024;

  public static NodeUsage read(Path directory, Instant now) {
    try {
      FileStore disk = Files.getFileStore(directory);
      return parse(
          now,
          Files.readAllLines(PROC.resolve("stat")),
          Files.readAllLines(PROC.resolve("meminfo")),
          Files.readAllLines(PROC.resolve("net/dev")).stream().filter(NodeUsage::outside).toList(),
          Files.readAllLines(PROC.resolve("vmstat")),
          disk.getTotalSpace() - disk.getUnallocatedSpace());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static NodeUsage parse(
      Instant now,
      List<String> stat,
      List<String> memory,
      List<String> network,
      List<String> paging,
      long diskUsedBytes) {
    NetworkUsage traffic = NetworkUsage.parse(network);
    return new NodeUsage(
        now,
        cpuSeconds(stat.getFirst()),
        KIB * (number(memory, "MemTotal:") - number(memory, "MemAvailable:")),
        traffic.receivedBytes(),
        traffic.sentBytes(),
        KIB * number(paging, "pgpgin "),
        KIB * number(paging, "pgpgout "),
        diskUsedBytes);
  }

  private static double cpuSeconds(String line) {
    List<String> words = List.of(line.strip().split("\\s+", -1));
    double ticks = 0;
    for (int index = 1; index < words.size() && index <= LAST_TIME; index++) {
      if (!IDLE.contains(index)) {
        ticks += Long.parseLong(words.get(index));
      }
    }
    return ticks / TICKS_PER_SECOND;
  }

  private static long number(List<String> lines, String title) {
    return lines.stream()
        .filter(line -> line.startsWith(title))
        .mapToLong(line -> Long.parseLong(line.substring(title.length()).replaceAll("\\D", "")))
        .findFirst()
        .orElse(0);
  }

  private static boolean outside(String line) {
    Predicate<String> inside =
        name -> name.startsWith("veth") || Files.isDirectory(INTERFACES.resolve(name + "/bridge"));
    int colon = line.indexOf(':');
    return colon >= 0 && !inside.test(line.substring(0, colon).strip());
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the kernel says about this very process. */
public final class Self {
  /** Titles in /proc/self/limits, and the names people write. */
  private static final Map<String, String> LIMITS =
      Map.ofEntries(
          Map.entry("Max address space", "as"),
          Map.entry("Max core file size", "core"),
          Map.entry("Max cpu time", "cpu"),
          Map.entry("Max data size", "data"),
          Map.entry("Max file size", "fsize"),
          Map.entry("Max file locks", "locks"),
          Map.entry("Max locked memory", "memlock"),
          Map.entry("Max msgqueue size", "msgqueue"),
          Map.entry("Max nice priority", "nice"),
          Map.entry("Max open files", "nofile"),
          Map.entry("Max processes", "nproc"),
          Map.entry("Max resident set", "rss"),
          Map.entry("Max realtime priority", "rtprio"),
          Map.entry("Max realtime timeout", "rttime"),
          Map.entry("Max pending signals", "sigpending"),
          Map.entry("Max stack size", "stack"));

  private Self() {}

  /** The program that this process runs. */
  public static Path program() throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/self/exe"));
  }

  /** The command line of this process, without the name of the program. */
  public static List<String> arguments() throws IOException {
    List<String> line = List.of(Files.readString(Path.of("/proc/self/cmdline")).split("\0"));
    return line.subList(1, line.size());
  }

  /** A setting of the kernel by its path below /proc/sys; empty where it has none of that name. */
  public static Optional<String> setting(String name) {
    // the kernel gives a setting to the first read alone, which therefore has to be large enough
    try (var file = Files.newInputStream(Path.of("/proc/sys", name))) {
      return Optional.of(new String(file.readNBytes(64), StandardCharsets.US_ASCII).strip());
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** The effective capabilities as a bit mask. */
  public static long capabilities() throws IOException {
    return capabilities(Files.readAllLines(Path.of("/proc/self/status")));
  }

  /** The same from the lines of a file like {@code /proc/self/status}. */
  public static long capabilities(List<String> status) throws IOException {
    for (String line : status) {
      if (line.startsWith("CapEff:")) {
        return Long.parseUnsignedLong(line.substring("CapEff:".length()).strip(), 16);
      }
    }
    throw new IOException("/proc/self/status has no capabilities");
  }

  /** Hard limits by name, -1 for unlimited. */
  public static Map<String, Long> hardLimits() throws IOException {
    return hardLimits(Files.readAllLines(Path.of("/proc/self/limits")));
  }

  /** The same from the lines of a file like {@code /proc/self/limits}. */
  public static Map<String, Long> hardLimits(List<String> lines) {
    var limits = new LinkedHashMap<String, Long>();
    for (String line : lines) {
      LIMITS.forEach(
          (title, name) -> {
            if (line.startsWith(title + " ")) {
              String hard = line.substring(title.length()).strip().split(" +", -1)[1];
              limits.put(name, hard.equals("unlimited") ? -1L : Long.parseLong(hard));
            }
          });
    }
    return limits;
  }

  /** How many descriptors this process has open; 0 when the kernel does not say. */
  public static long descriptors() {
    try (var open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    } catch (IOException _) {
      return 0;
    }
  }

  /** How many threads of the operating system this process has; 0 when the kernel does not say. */
  public static long threads() {
    try (var threads = Files.list(Path.of("/proc/self/task"))) {
      return threads.count();
    } catch (IOException _) {
      return 0;
    }
  }

  public static int oomScoreAdjust() throws IOException {
    return Integer.parseInt(Files.readString(Path.of("/proc/self/oom_score_adj")).strip());
  }
}

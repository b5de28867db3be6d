package dev.zlayer.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;

/**
 * The processes of this namespace, which are all ours. What a process and its ended children used
 * is counted with it, so nothing short-lived is missed: orphans are counted with the first process.
 */
public final class Census {
  private static final Path PROC = Path.of("/proc");
  private static final double TICKS = 100;
  private static final String REGISTRY = "docker-registry";

  private Census() {}

  /** CPU seconds used so far by everything here except the registry, which serves all alike. */
  public static double cpuSeconds() {
    double ticks = 0;
    for (Path process : processes()) {
      String stat = read(process.resolve("stat"));
      int end = stat.lastIndexOf(')');
      if (end < 0 || stat.contains("(" + REGISTRY.substring(0, 15))) {
        continue;
      }
      String[] words = stat.substring(end + 2).split(" ", -1);
      for (int field = 11; field < 15; field++) {
        ticks += Long.parseLong(words[field]);
      }
    }
    return ticks / TICKS;
  }

  /** CPU seconds of one process alone, without its children. */
  public static double cpuSeconds(long pid) {
    return cpuSeconds(PROC.resolve(Long.toString(pid)), 13);
  }

  /** The fields from 13 on are those of children that have ended. */
  private static double cpuSeconds(Path process, int end) {
    String stat = read(process.resolve("stat"));
    if (stat.isEmpty()) {
      return 0;
    }
    String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    double ticks = 0;
    for (int field = 11; field < end; field++) {
      ticks += Long.parseLong(words[field]);
    }
    return ticks / TICKS;
  }

  /** CPU seconds of the processes whose command line fits, without children that have ended. */
  public static double cpuSeconds(Predicate<String> commandLine) {
    return cpuSeconds(commandLine, 13);
  }

  /** The same with children that have ended. */
  public static double cpuSecondsOfAll(Predicate<String> commandLine) {
    return cpuSeconds(commandLine, 15);
  }

  private static double cpuSeconds(Predicate<String> commandLine, int end) {
    double seconds = 0;
    for (Path process : processes()) {
      if (commandLine.test(read(process.resolve("cmdline")).replace('\0', ' '))) {
        seconds += cpuSeconds(process, end);
      }
    }
    return seconds;
  }

  /** CPU seconds the whole machine was busy. */
  public static double machineSeconds() {
    String[] words = read(PROC.resolve("stat")).lines().findFirst().orElse("").split(" +", -1);
    double busy = 0;
    for (int field : List.of(1, 2, 3, 6, 7, 8)) {
      busy += Long.parseLong(words[field]);
    }
    return busy / TICKS;
  }

  /** MiB of the processes whose command line fits; what is shared is split among its users. */
  public static double memory(Predicate<String> commandLine) {
    long kilobytes = 0;
    for (Path process : processes()) {
      if (commandLine.test(read(process.resolve("cmdline")).replace('\0', ' '))) {
        kilobytes += proportional(process);
      }
    }
    return kilobytes / 1024.0;
  }

  /** MiB of one process. */
  public static double memory(long pid) {
    return proportional(PROC.resolve(Long.toString(pid))) / 1024.0;
  }

  /** How many descriptors a process has open. */
  public static long descriptors(long pid) {
    try (var entries = Files.list(PROC.resolve(pid + "/fd"))) {
      return entries.count();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** How many threads of the kernel a process has. */
  public static long threads(long pid) {
    try (var entries = Files.list(PROC.resolve(pid + "/task"))) {
      return entries.count();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** MiB of this process. */
  public static double ownMemory() {
    return proportional(PROC.resolve("self")) / 1024.0;
  }

  private static long proportional(Path process) {
    return read(process.resolve("smaps_rollup"))
        .lines()
        .filter(line -> line.startsWith("Pss:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .sum();
  }

  private static List<Path> processes() {
    try (var entries = Files.list(PROC)) {
      return entries.filter(path -> path.getFileName().toString().matches("\\d+")).toList();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** Empty when the process has ended meanwhile. */
  private static String read(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
    } catch (IOException _) {
      return "";
    }
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** In which user namespace this process is, and in which others are. */
public final class UserNamespaces {
  private static final long ALL = 4_294_967_295L;
  private static final Path PROCESSES = Path.of("/proc");

  /** With those that the agent of an ordinary user has, too. */
  private static final List<String> KINDS = List.of("user", "mnt", "net");

  private UserNamespaces() {}

  /**
   * Whether root here is an ordinary user of the host, as in a rootless agent. Then devices,
   * control groups and settings of the host belong to others.
   */
  public static boolean inside() {
    try {
      return inside(Files.readString(Path.of("/proc/self/uid_map")));
    } catch (IOException _) {
      return false; // a kernel without them
    }
  }

  /** By the text of {@code /proc/self/uid_map}: the first namespace maps every number to itself. */
  static boolean inside(String map) {
    String[] words = map.strip().split("\\s+", -1);
    return words.length != 3
        || !words[0].equals("0")
        || !words[1].equals("0")
        || Long.parseLong(words[2]) < ALL;
  }

  /** Which user of the host this process is; root of a rootless agent is an ordinary user there. */
  static long owner() {
    try {
      return owner(
          Files.readString(Path.of("/proc/self/uid_map")),
          Machine.effectiveUser(Files.readAllLines(Path.of("/proc/self/status"))));
    } catch (IOException _) {
      return -1;
    }
  }

  /**
   * By the text of {@code /proc/self/uid_map}: each line is a number here, one outside, how many.
   */
  static long owner(String map, long number) {
    for (String line : map.lines().toList()) {
      String[] words = line.strip().split("\\s+", -1);
      long behind = number - Long.parseLong(words[0]);
      if (behind >= 0 && behind < Long.parseLong(words[2])) {
        return Long.parseLong(words[1]) + behind;
      }
    }
    return -1;
  }

  /** The namespaces of a process; none of one that has ended or may not be inspected. */
  public static List<String> of(long pid) {
    var found = new ArrayList<String>();
    try {
      for (String kind : KINDS) {
        Path link = PROCESSES.resolve(Long.toString(pid)).resolve("ns").resolve(kind);
        found.add(Files.readSymbolicLink(link).toString());
      }
      return found;
    } catch (IOException _) {
      return List.of();
    }
  }

  /** Any process that is in exactly these. */
  public static Optional<Long> processIn(List<String> namespaces) throws IOException {
    if (namespaces.isEmpty()) {
      return Optional.empty();
    }
    try (Stream<Path> processes = Files.list(PROCESSES)) {
      return processes
          .map(process -> process.getFileName().toString())
          .filter(name -> name.matches("\\d+"))
          .map(Long::valueOf)
          .filter(pid -> of(pid).equals(namespaces))
          .findFirst();
    }
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Finds the process that has a port of this host. */
public final class PortOwner {
  private static final String LISTENING = "0A";

  /** A process by its number and the name of its program. */
  public record Owner(long pid, String program) {
    @Override
    public String toString() {
      return "%s (pid %d)".formatted(program, pid);
    }
  }

  private PortOwner() {}

  /**
   * The process with a socket that listens on the port, or for UDP is bound to it; empty when there
   * is none or it cannot be seen from here.
   *
   * @param protocol {@code tcp} or {@code udp}
   */
  public static Optional<Owner> find(String protocol, int port) {
    Set<String> sockets = new HashSet<>();
    for (String table : List.of(protocol, protocol + "6")) {
      sockets.addAll(sockets(Path.of("/proc/net", table), protocol.equals("udp"), port));
    }
    return sockets.isEmpty()
        ? Optional.empty()
        : ProcessHandle.allProcesses()
            .filter(process -> holds(process.pid(), sockets))
            .findFirst()
            .map(process -> new Owner(process.pid(), program(process.pid())));
  }

  /** A line is number, local address, remote address, state, ..., and the inode as tenth. */
  private static Set<String> sockets(Path table, boolean datagrams, int port) {
    String local = String.format(Locale.ROOT, ":%04X", port);
    var found = new HashSet<String>();
    try (var lines = Files.lines(table)) {
      lines
          .skip(1)
          .map(line -> line.strip().split("\\s+"))
          .filter(words -> words.length > 9 && words[1].endsWith(local))
          .filter(words -> datagrams || words[3].equals(LISTENING))
          .forEach(words -> found.add("socket:[" + words[9] + "]"));
    } catch (IOException | java.io.UncheckedIOException _) {
      return Set.of(); // a kernel without this protocol
    }
    return found;
  }

  private static boolean holds(long pid, Set<String> sockets) {
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "fd"))) {
      for (Path file : files) {
        if (isOne(file, sockets)) {
          return true;
        }
      }
      return false;
    } catch (IOException | java.nio.file.DirectoryIteratorException _) {
      return false; // it exited, or may not be inspected
    }
  }

  private static boolean isOne(Path file, Set<String> sockets) {
    try {
      return sockets.contains(Files.readSymbolicLink(file).toString());
    } catch (IOException _) {
      return false; // closed meanwhile
    }
  }

  private static String program(long pid) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(pid), "comm")).strip();
    } catch (IOException _) {
      return "a process";
    }
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Bytes that went over all interfaces of a network namespace but the loopback. */
public record NetworkUsage(long receivedBytes, long sentBytes) {
  /**
   * Of the namespace a process is in.
   *
   * @throws java.nio.file.NoSuchFileException there is no such process
   */
  public static NetworkUsage of(long pid) throws IOException {
    return parse(Files.readAllLines(Path.of("/proc", Long.toString(pid), "net/dev")));
  }

  /** After two lines of titles: {@code eth0: bytes packets ... (8 columns) bytes packets ...}. */
  static NetworkUsage parse(List<String> lines) {
    long received = 0;
    long sent = 0;
    for (String line : lines) {
      int colon = line.indexOf(':');
      if (colon < 0 || line.substring(0, colon).strip().equals("lo")) {
        continue;
      }
      List<String> columns = List.of(line.substring(colon + 1).strip().split("\\s+", -1));
      if (columns.size() >= 9) {
        received += Long.parseLong(columns.get(0));
        sent += Long.parseLong(columns.get(8));
      }
    }
    return new NetworkUsage(received, sent);
  }
}

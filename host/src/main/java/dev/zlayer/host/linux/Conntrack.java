package dev.zlayer.host.linux;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.Set;

/** Connections that the kernel remembers because it translates their addresses. */
public final class Conntrack {
  private static final Path TABLE = Path.of("/proc/net/nf_conntrack");

  /** From the first packet until both sides have ended. */
  private static final Set<String> OPEN =
      Set.of("SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT");

  private Conntrack() {}

  /**
   * How many TCP connections to that address are open, whatever address their clients asked for;
   * empty when this kernel does not tell.
   */
  public static OptionalInt connections(InetAddress server) throws IOException {
    try (BufferedReader lines = Files.newBufferedReader(TABLE, StandardCharsets.US_ASCII)) {
      return OptionalInt.of(count(lines, server.getHostAddress()));
    } catch (NoSuchFileException _) {
      return OptionalInt.empty();
    }
  }

  static int count(BufferedReader lines, String server) throws IOException {
    String answering = " src=" + server + " ";
    int count = 0;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      // first how the client sees it, then how the server does: its address answers
      int second = line.indexOf(" src=", line.indexOf(" src=") + 1);
      if (second > 0 && line.startsWith(answering, second) && open(line)) {
        count++;
      }
    }
    return count;
  }

  private static boolean open(String line) {
    String[] words = line.split(" +", 7);
    return words.length > 5 && words[2].equals("tcp") && OPEN.contains(words[5]);
  }
}

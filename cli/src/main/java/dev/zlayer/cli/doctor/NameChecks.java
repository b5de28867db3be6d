package dev.zlayer.cli.doctor;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Whether names can be resolved here, as pulls of images need it. */
final class NameChecks {
  private static final int PORT = 53;
  private static final Duration LIMIT = Duration.ofSeconds(1);

  /** Asks for the name servers of the root, which every server can answer. */
  private static final byte[] QUESTION = {
    0x5a, 0x4c, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1,
  };

  private NameChecks() {}

  static Finding run(Path resolver) {
    String remedy = "name a server that answers in " + resolver;
    List<String> servers;
    try {
      servers =
          Files.readAllLines(resolver).stream()
              .map(line -> line.strip().split("\\s+"))
              .filter(words -> words.length > 1 && words[0].equals("nameserver"))
              .map(words -> words[1])
              .toList();
    } catch (IOException e) {
      return Finding.warning("dns", resolver + " cannot be read: " + e.getMessage(), remedy);
    }
    if (servers.isEmpty()) {
      return Finding.warning("dns", resolver + " names no server", remedy);
    }
    for (String server : servers) {
      if (answers(server)) {
        return Finding.ok("dns", server + " answers");
      }
    }
    return Finding.warning(
        "dns",
        "no name server answers: " + String.join(", ", servers),
        remedy + "; until then only local images and addresses can be used");
  }

  private static boolean answers(String server) {
    try (var socket = new DatagramSocket()) {
      socket.setSoTimeout((int) LIMIT.toMillis());
      // the other form of connect throws an unchecked exception when there is no network
      socket.connect(
          new InetSocketAddress(InetAddress.getByName(server.replaceFirst("%.*", "")), PORT));
      socket.send(new DatagramPacket(QUESTION, QUESTION.length));
      socket.receive(new DatagramPacket(new byte[512], 512));
      return true;
    } catch (IOException _) {
      return false;
    }
  }
}

package dev.zlayer.bench.engine;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Asks the daemon's name server for the address of a service, as a container of its deployment
 * would: from an address of its network.
 */
public final class NameQuestion implements AutoCloseable {
  private static final String DEPLOYMENT = "names";
  private static final int LIMIT_MILLIS = 10_000;
  private static final int LARGEST = 1_500;
  private static final int FOUND = 0;

  private final ZlayerDaemon daemon;
  private final DatagramSocket socket;
  private final byte[] question;
  private short number;

  private NameQuestion(ZlayerDaemon daemon, DatagramSocket socket, byte[] question) {
    this.daemon = daemon;
    this.socket = socket;
    this.question = question;
  }

  /** Deploys a service that has an address. */
  public static NameQuestion open(
      ZlayerDaemon daemon, Path directory, String image, String controlGroup) throws Exception {
    Path file =
        Files.writeString(
            directory,
            """
            version: v1
            deployment: %s
            services:
              web:
                image: {name: "%s"}
                command: {args: [/bin/sleep, "3600"]}
                cgroup_parent: %s
            """
                .formatted(DEPLOYMENT, image, controlGroup));
    daemon.run("up", file.toString(), "--wait", "60s", "-q");
    InetAddress own =
        JsonText.parse(daemon.ask("GET", "/networks", Json.Null.INSTANCE)).items().stream()
            .filter(network -> network.at("name").string().orElse("").endsWith(DEPLOYMENT))
            .map(network -> InetAddress.ofLiteral(network.at("gateway").string().orElseThrow()))
            .findFirst()
            .orElseThrow();
    var socket = new DatagramSocket(new InetSocketAddress(own, 0));
    socket.setSoTimeout(LIMIT_MILLIS);
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), daemon.namePort()));
    return new NameQuestion(daemon, socket, question("web", DEPLOYMENT, "zlayer", "internal"));
  }

  /** One question for an address, as RFC 1035 has it. */
  private static byte[] question(String... labels) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var out = new DataOutputStream(bytes);
    for (int word : List.of(0, 0x0100, 1, 0, 0, 0)) {
      out.writeShort(word);
    }
    for (String label : labels) {
      out.writeByte(label.length());
      out.write(label.getBytes(StandardCharsets.US_ASCII));
    }
    out.writeByte(0);
    out.writeShort(1);
    out.writeShort(1);
    return bytes.toByteArray();
  }

  /** An answer without an address, or none in time, is an error. */
  public void ask() throws IOException {
    number++;
    question[0] = (byte) (number >> 8);
    question[1] = (byte) number;
    socket.send(new DatagramPacket(question, question.length));
    var answer = new byte[LARGEST];
    do {
      socket.receive(new DatagramPacket(answer, LARGEST));
    } while (answer[0] != question[0] || answer[1] != question[1]);
    if ((answer[3] & 0xf) != FOUND || answer[7] == 0) {
      throw new IOException("the name server answers with code %d".formatted(answer[3] & 0xf));
    }
  }

  @Override
  public void close() throws InterruptedException {
    socket.close();
    daemon.run("down", DEPLOYMENT, "--wait", "60s", "-q");
  }
}

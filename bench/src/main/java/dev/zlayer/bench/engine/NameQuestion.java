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
import java.util.List;
import java.util.Optional;

/**
 * Asks the daemon's name server for the address of a container, from an address of the default
 * network, as another container there would.
 */
public final class NameQuestion implements AutoCloseable {
  private static final String CONTAINER = "names";
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

  /** Starts a container that has an address. */
  public static NameQuestion open(ZlayerDaemon daemon, String image, String controlGroup)
      throws IOException, InterruptedException {
    daemon.run(
        "run",
        "-d",
        "--name",
        CONTAINER,
        "--cgroup-parent",
        controlGroup,
        image,
        "/bin/sleep",
        "3600");
    InetAddress own =
        JsonText.parse(daemon.ask("GET", "/networks", Json.Null.INSTANCE)).items().stream()
            .filter(network -> network.at("name").string().equals(Optional.of("default")))
            .map(network -> InetAddress.ofLiteral(network.at("gateway").string().orElseThrow()))
            .findFirst()
            .orElseThrow();
    var socket = new DatagramSocket(new InetSocketAddress(own, 0));
    socket.setSoTimeout(LIMIT_MILLIS);
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), daemon.namePort()));
    return new NameQuestion(daemon, socket, question(CONTAINER));
  }

  /** One question for an address, as RFC 1035 has it. */
  private static byte[] question(String name) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var out = new DataOutputStream(bytes);
    for (int word : List.of(0, 0x0100, 1, 0, 0, 0)) {
      out.writeShort(word);
    }
    out.writeByte(name.length());
    out.write(name.getBytes(StandardCharsets.US_ASCII));
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
    daemon.run("rm", "-f", CONTAINER);
  }
}

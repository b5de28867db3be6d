package dev.zlayer.host.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class WebSocketTest {
  private static final Pattern KEY = Pattern.compile("Sec-WebSocket-Key: (\\S+)");

  @TempDir Path directory;

  /** The example of the RFC. */
  @Test
  void theAcceptValueIsTheOneOfTheStandard() {
    assertThat(WebSocket.accept("dGhlIHNhbXBsZSBub25jZQ=="))
        .isEqualTo("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  }

  @Test
  void messagesOfEverySizeTravelBothWays() throws Exception {
    try (var server = new ScriptedServer(directory, WebSocketTest::echo);
        var client = HttpClient.open(server.address());
        var socket = open(client)) {
      for (int size : new int[] {0, 1, 125, 126, 65535, 65536, 200_000}) {
        byte[] sent = new byte[size];
        new java.util.Random(size).nextBytes(sent);
        socket.sendBinary(sent);
        assertThat(((WebSocket.Message.Binary) socket.receive()).bytes()).isEqualTo(sent);
      }
      socket.sendText("grün");
      assertThat(socket.receive()).isEqualTo(new WebSocket.Message.Text("grün"));
      socket.sendClose(1000, "enough");
      assertThat(socket.receive()).isEqualTo(new WebSocket.Message.Closed(1000, "enough"));
    }
  }

  @Test
  void pingsAreAnsweredAndPartsPutTogether() throws Exception {
    // "He" unfinished, a ping "p" between, "y" as the last part; then the pong comes back as binary
    try (var server =
            new ScriptedServer(
                directory,
                peer -> {
                  handshake(peer);
                  peer.out().write(HexFormat.of().parseHex("01024865" + "890170" + "800179"));
                  byte[] pong = clientFrame(peer);
                  peer.out().write(new byte[] {(byte) 0x82, (byte) pong.length});
                  peer.out().write(pong);
                  peer.out().write(HexFormat.of().parseHex("8800"));
                });
        var client = HttpClient.open(server.address());
        var socket = open(client)) {
      assertThat(socket.receive()).isEqualTo(new WebSocket.Message.Text("Hey"));
      assertThat(((WebSocket.Message.Binary) socket.receive()).bytes()).containsExactly(0x8a, 'p');
      assertThat(socket.receive()).isEqualTo(new WebSocket.Message.Closed(1005, ""));
      assertThatThrownBy(() -> socket.sendText("late")).isInstanceOf(AgentException.Network.class);
    }
  }

  @Test
  void whatBreaksTheProtocolIsRefused() throws Exception {
    for (String frames :
        new String[] {
          "8181000000004a", // masked by a server
          "c10148", // a reserved bit
          "830148", // an unknown kind
          "800148", // a part without a beginning
          "0101480101", // a beginning inside a message
          "0901", // a control frame in parts
          "827fffffffffffffffff", // a negative length
          "827f0000000100000000", // longer than allowed
          "8102c328", // no UTF-8
          "880103", // half a close code
          "8205aa", // cut off
        }) {
      Path own = java.nio.file.Files.createTempDirectory(directory, "w");
      try (var server =
              new ScriptedServer(
                  own,
                  peer -> {
                    handshake(peer);
                    peer.out().write(HexFormat.of().parseHex(frames));
                  });
          var client = HttpClient.open(server.address());
          var socket = open(client)) {
        assertThatThrownBy(socket::receive).as(frames).isInstanceOf(AgentException.Network.class);
      }
    }
  }

  @Test
  void aServerThatDoesNotProveItUnderstoodIsRefused() throws Exception {
    try (var server =
            ScriptedServer.saying(
                directory, "HTTP/1.1 101 x\r\nSec-WebSocket-Accept: nonsense\r\n\r\n");
        var client = HttpClient.open(server.address())) {
      assertThatThrownBy(() -> open(client)).isInstanceOf(AgentException.Network.class);
    }
  }

  @Test
  void aRefusalKeepsTheServersWords() throws Exception {
    try (var server =
            ScriptedServer.saying(
                directory, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
        var client = HttpClient.open(server.address())) {
      var refused =
          (WebSocket.Opened.Refused)
              WebSocket.open(client, "/w", HttpHeaders.NONE, 1000, Deadline.none());
      assertThat(refused.response().text(10)).isEqualTo("gone");
    }
  }

  private static WebSocket open(HttpClient client) throws InterruptedException {
    var opened =
        WebSocket.open(
            client, "/w", HttpHeaders.NONE, 1 << 20, Deadline.after(Duration.ofSeconds(10)));
    return ((WebSocket.Opened.Accepted) opened).socket();
  }

  private static void handshake(ScriptedServer.Peer peer) throws IOException {
    var key = KEY.matcher(peer.head());
    assertThat(key.find()).isTrue();
    peer.say(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: "
            + WebSocket.accept(key.group(1))
            + "\r\n\r\n");
  }

  /** First byte and unmasked payload of a short frame. */
  private static byte[] clientFrame(ScriptedServer.Peer peer) throws IOException {
    var in = new DataInputStream(peer.in());
    int first = in.readUnsignedByte();
    byte[] payload = unmasked(in, in.readUnsignedByte() & 0x7f);
    return ByteBuffer.allocate(1 + payload.length).put((byte) first).put(payload).array();
  }

  private static byte[] unmasked(DataInputStream in, int length) throws IOException {
    byte[] key = in.readNBytes(4);
    byte[] payload = in.readNBytes(length);
    for (int i = 0; i < payload.length; i++) {
      payload[i] ^= key[i % 4];
    }
    return payload;
  }

  private static void echo(ScriptedServer.Peer peer) throws IOException {
    handshake(peer);
    var in = new DataInputStream(peer.in());
    while (true) {
      int first = in.readUnsignedByte();
      int second = in.readUnsignedByte();
      assertThat(second & 0x80).as("masked").isNotZero();
      int code = second & 0x7f;
      int length = code == 126 ? in.readUnsignedShort() : code == 127 ? (int) in.readLong() : code;
      byte[] payload = unmasked(in, length);
      var answer = ByteBuffer.allocate(10 + length).put((byte) first);
      if (length <= 125) {
        answer.put((byte) length);
      } else if (length <= 0xffff) {
        answer.put((byte) 126).putShort((short) length);
      } else {
        answer.put((byte) 127).putLong(length);
      }
      answer.put(payload).flip();
      while (answer.hasRemaining()) {
        peer.channel().write(answer);
      }
    }
  }
}

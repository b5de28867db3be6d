package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.IngressNode.echo;
import static dev.zlayer.daemon.IngressNode.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that mean harm, against a real HAProxy before real containers. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.HAPROXY})
class IngressHostileIT {
  private static final int SLOW_CLIENTS = 2_000;
  private static IngressNode node;

  @BeforeAll
  static void open() throws Exception {
    node = new IngressNode();
    node.up(
        "site",
        """
        web:
        %s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: site.test}
        secret:
        %s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: secret.test, deny: [127.0.0.0/8]}
        """
            .formatted(echo("web").indent(2), echo("secret").indent(2)));
    node.running("site", "web");
    node.running("site", "secret");
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  /** What a file says becomes part of HAProxy's configuration, and never more than a value. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "host: \"a.test\\n  use_backend none\"",
        "host: \"a.test none\"",
        "host: \"a.test #\"",
        "host: \"%[src].test\"",
        "host: \"*.*.test\"",
        "path: \"/x\\n  http-request deny\"",
        "path: \"/x y\"",
        "path: \"/x'\"",
        "path: \"/%[src]\"",
        "path: \"/(a|b)\", strip_prefix: true",
        "path: \"/$HOME\"",
        "path: \"/\\u00e9\"",
        "path: /x, headers: {request: {X-A: \"a'\\n  http-request deny\"}}",
        "path: /x, headers: {request: {X-A: \"a' b\"}}",
        "path: /x, headers: {request: {X-A: \"a\\\\\"}}",
        "path: /x, headers: {response: {\"X-A b\": c}}",
        "path: /x, headers: {response: {\"X-A\\n\": c}}",
        "path: /x, allow: [\"10.0.0.0/8 } or { always_true\"]",
        "path: /x, basic_auth: \"x\\ny\""
      })
  void fieldsOfAFileAreNoConfiguration(String fields) throws Exception {
    String file =
        """
        version: v1
        deployment: hostile
        services:
          web:
            image: {name: nothing}
            endpoints: [{name: http, protocol: http, port: 8080, %s}]
        """
            .formatted(fields);
    assertThat(
            node.rest()
                .put("/deployments/hostile", file.getBytes(StandardCharsets.UTF_8))
                .expect(422)
                .text())
        .contains("services.web.endpoints[0]");
  }

  /** Others are served meanwhile, and those that never finish their request are closed. */
  @Test
  void clientsThatSendTheirRequestsSlowlyKeepNobodyOut() throws Exception {
    var clients = new ArrayList<SocketChannel>();
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), node.port);
    try {
      for (int i = 0; i < SLOW_CLIENTS; i++) {
        SocketChannel client = SocketChannel.open(address);
        clients.add(client);
        client.write(bytes("GET / HTTP/1.1\r\nHost: site.test\r\nX-" + i + ": "));
      }
      for (int i = 0; i < 5; i++) {
        assertThat(node.get("site.test", "/")).contains("web\nGET / HTTP/1.1");
      }
      for (SocketChannel client : clients) {
        client.configureBlocking(false);
      }
      await(
          "all are closed",
          () -> {
            clients.removeIf(IngressHostileIT::ended);
            return clients.isEmpty();
          });
    } finally {
      for (SocketChannel client : clients) {
        client.close();
      }
    }
  }

  /** Its socket is closed, too; the response, if there is one, is read. */
  private static boolean ended(SocketChannel client) {
    try {
      ByteBuffer buffer = ByteBuffer.allocate(1000);
      int read = client.read(buffer);
      while (read > 0) {
        buffer.clear();
        read = client.read(buffer);
      }
      if (read < 0) {
        client.close();
      }
      return read < 0;
    } catch (IOException _) {
      return true; // reset
    }
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  @Test
  void hugeHeadersAreRefused() throws Exception {
    assertThat(status(node.get("site.test", "/", "X: " + "x".repeat(8_000)))).isEqualTo(200);
    assertThat(refused("GET / HTTP/1.1\r\nHost: site.test\r\nX: " + "x".repeat(40_000))).isTrue();
    assertThat(refused("GET /" + "x".repeat(40_000) + " HTTP/1.1\r\nHost: site.test\r\n")).isTrue();
    assertThat(refused("GET / HTTP/1.1\r\nHost: site.test\r\n" + "X: y\r\n".repeat(2_000)))
        .isTrue();
    assertThat(status(node.get("site.test", "/"))).isEqualTo(200);
  }

  private static boolean refused(String head) throws IOException {
    try {
      String answer = node.send(head + "\r\n\r\n");
      return answer.isEmpty() || List.of(400, 414, 431).contains(status(answer));
    } catch (SocketException _) {
      return true; // closed while it was sent
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1\r\nHost: site.test\r\nHost: secret.test\r\n",
        "GET / HTTP/1.1\r\nHost: secret.test\r\nHost: site.test\r\n",
        "GET / HTTP/1.1\r\nHost: site.test, secret.test\r\n",
        "GET / HTTP/1.1\r\nHost: site.test@secret.test\r\n",
        "GET / HTTP/1.1\r\nHost: secret.test@site.test\r\n",
        "GET / HTTP/1.1\r\nHost: secret.test#.site.test\r\n",
        "GET / HTTP/1.1\r\nHost: secret.test/site.test\r\n",
        "GET / HTTP/1.1\r\nHost: SECRET.test.\r\n",
        "GET / HTTP/1.1\r\nHost: secret.test:x\r\n",
        "GET / HTTP/1.1\r\nHost : secret.test\r\nHost: site.test\r\n",
        "GET / HTTP/1.1\r\nX-Forwarded-Host: secret.test\r\nHost: site.test\r\n",
        "GET http://secret.test/ HTTP/1.1\r\nHost: site.test\r\n",
        "GET http://site.test/ HTTP/1.1\r\nHost: secret.test\r\n",
        "GET //secret.test/ HTTP/1.1\r\nHost: site.test\r\n",
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.0\r\nHost: secret.test\r\n"
      })
  void noSpellingOfAHostReachesAnotherService(String head) throws Exception {
    assertThat(node.send(head + "Connection: close\r\n\r\n"))
        .startsWith("HTTP/1.1 ")
        .doesNotContain("secret\nGET");
  }

  /** Headers of HTTP/2 that would be read otherwise by a server with HTTP/1.1. */
  static List<List<String>> downgrades() {
    return List.of(
        List.of("transfer-encoding", "chunked"),
        List.of("content-length", "0"),
        List.of("content-length", "3", "content-length", "60"),
        List.of("x", "y\r\ntransfer-encoding: chunked"),
        List.of("x\r\ntransfer-encoding", "chunked"),
        List.of("x: y\r\nz", "z"),
        List.of("connection", "upgrade"),
        List.of("upgrade", "h2c"),
        List.of(":path", "/ HTTP/1.1\r\nHost: secret.test\r\n\r\nGET /"));
  }

  @ParameterizedTest
  @MethodSource("downgrades")
  void requestsCannotBeSmuggledThroughHttp2(List<String> headers) throws Exception {
    var block = new ByteArrayOutputStream();
    List<String> usual = List.of(":method", "POST", ":scheme", "http", ":authority", "site.test");
    for (int i = 0; i < usual.size(); i += 2) {
      header(block, usual.get(i), usual.get(i + 1));
    }
    if (!headers.getFirst().equals(":path")) {
      header(block, ":path", "/");
    }
    for (int i = 0; i < headers.size(); i += 2) {
      header(block, headers.get(i), headers.get(i + 1));
    }
    try (var socket = new Socket()) {
      socket.setSoTimeout(20_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), node.port), 5_000);
      var out = new ByteArrayOutputStream();
      out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      frame(out, 4, 0, 0, new byte[0]);
      frame(out, 1, 0x4, 1, block.toByteArray());
      byte[] inner =
          "GET /smuggled HTTP/1.1\r\nHost: site.test\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
      frame(out, 0, 0x1, 1, inner);
      socket.getOutputStream().write(out.toByteArray());

      assertThat(reset(new DataInputStream(socket.getInputStream())))
          .as("the stream or the connection ends with an error, before any response")
          .isTrue();
    } catch (SocketException | EOFException _) {
      // the connection was closed: refused as well
    }
    assertThat(node.get("site.test", "/next")).contains("web\nGET /next HTTP");
  }

  /** As HPACK writes what is in no table, without Huffman's code. */
  private static void header(ByteArrayOutputStream block, String name, String value) {
    block.write(0);
    for (String text : List.of(name, value)) {
      block.write(text.length());
      block.writeBytes(text.getBytes(StandardCharsets.ISO_8859_1));
    }
  }

  private static void frame(
      ByteArrayOutputStream out, int type, int flags, int stream, byte[] payload) {
    out.writeBytes(
        ByteBuffer.allocate(9)
            .put((byte) (payload.length >> 16))
            .putShort((short) payload.length)
            .put((byte) type)
            .put((byte) flags)
            .putInt(stream)
            .array());
    out.writeBytes(payload);
  }

  /** Whether RST_STREAM or GOAWAY comes, or 400, before the data of a replica's response. */
  private static boolean reset(DataInputStream in) throws IOException {
    while (true) {
      int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
      int type = in.readUnsignedByte();
      int _ = in.readUnsignedByte();
      int _ = in.readInt();
      byte[] payload = in.readNBytes(length);
      if (type == 3 || type == 7) {
        return true;
      }
      if (type == 0) {
        return !new String(payload, StandardCharsets.ISO_8859_1).contains("web\n");
      }
    }
  }
}

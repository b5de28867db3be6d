package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What HAProxy does with connections, between raw sockets on loopback. */
@Requires({Fact.ROOT, Fact.HAPROXY})
class IngressTrafficIT {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final InetAddress FIRST = InetAddress.ofLiteral("127.0.0.1");
  private static final InetAddress SECOND = InetAddress.ofLiteral("127.0.0.2");
  private static final String OK =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

  /** What a server does with a connection whose request was read up to its empty line. */
  @FunctionalInterface
  private interface Behaviour {
    void serve(Socket socket, String head) throws Exception;
  }

  @TempDir private Path directory;
  private final List<ServerSocket> servers = new ArrayList<>();
  private int port;
  private int target;
  private IngressConfig config;
  private Ingress ingress;

  @BeforeEach
  void open() throws Exception {
    try (var one = new ServerSocket(0, 1, FIRST);
        var other = new ServerSocket(0, 1, FIRST)) {
      port = one.getLocalPort();
      target = other.getLocalPort();
    }
    config = IngressConfig.of(directory.resolve("i"), "127.0.0.1:" + port, "127.0.0.1:443", false);
    ingress = Ingress.open(config, Rotation.NONE, TimeSource.monotonic(), new Supervisor());
  }

  @AfterEach
  void close() throws Exception {
    ingress.close();
    new Haproxy(config, Pauses.REAL).stop();
    for (ServerSocket server : servers) {
      server.close();
    }
  }

  @Test
  void aWebSocketStaysOpenWhenItsReplicaIsDrained() throws Exception {
    serve(
        FIRST,
        (socket, head) -> {
          assertThat(head).containsIgnoringCase("upgrade: websocket");
          write(
              socket,
              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
          socket.getInputStream().transferTo(socket.getOutputStream());
        });
    serve(SECOND, (socket, _) -> write(socket, OK));
    ingress.update(members(true, false));
    try (Socket client = connect()) {
      write(
          client,
          "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
              + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
      assertThat(head(client)).startsWith("HTTP/1.1 101");
      assertThat(echoed(client, "before")).isEqualTo("before");

      ingress.update(members(false, true));

      assertThat(echoed(client, "after")).isEqualTo("after");
      assertThat(request("GET")).endsWith("ok");
    }
  }

  @Test
  void requestsAreRepeatedOnlyWhenThatIsSafe() throws Exception {
    var attempts = new AtomicInteger();
    serve(
        FIRST,
        (_, _) -> {
          int _ = attempts.incrementAndGet(); // and no byte of a response
        });
    serve(SECOND, (socket, _) -> write(socket, OK));
    ingress.update(members(true, true));

    for (int i = 0; i < 4; i++) {
      assertThat(request("GET")).endsWith("ok");
    }
    assertThat(attempts).hasPositiveValue();
    attempts.set(0);
    int failed = 0;
    for (int i = 0; i < 4; i++) {
      failed += request("POST").startsWith("HTTP/1.1 502") ? 1 : 0;
    }
    assertThat(failed).isPositive().isEqualTo(attempts.get());
  }

  @Test
  void aReplicaThatRefusesConnectionsIsReplacedByAnother() throws Exception {
    serve(SECOND, (socket, _) -> write(socket, OK));
    ingress.update(members(true, true));

    for (int i = 0; i < 4; i++) {
      assertThat(request("POST")).endsWith("ok");
    }
  }

  @Test
  void aResponseIsPassedOnAsItArrives() throws Exception {
    var read = new CountDownLatch(1);
    serve(
        FIRST,
        (socket, _) -> {
          write(socket, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\n");
          assertThat(read.await(20, TimeUnit.SECONDS)).isTrue();
          write(socket, "data: two\n\n");
        });
    ingress.update(members(true, false));
    try (Socket client = connect()) {
      write(client, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
      String seen = head(client);
      while (!seen.contains("data: one")) {
        seen += (char) client.getInputStream().read();
      }
      read.countDown();
      assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .contains("data: two");
    }
  }

  private String request(String method) throws IOException {
    try (Socket client = connect()) {
      write(
          client,
          method + " / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }
  }

  private Socket connect() throws IOException {
    var socket = new Socket();
    socket.setSoTimeout(20_000);
    socket.connect(new InetSocketAddress(FIRST, port), 5_000);
    return socket;
  }

  private static String echoed(Socket socket, String text) throws IOException {
    write(socket, text);
    return new String(socket.getInputStream().readNBytes(text.length()), StandardCharsets.US_ASCII);
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().flush();
  }

  /** Reads up to the empty line. */
  private static String head(Socket socket) throws IOException {
    var head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = socket.getInputStream().read();
      if (next < 0) {
        throw new IOException("the connection ended after: " + head);
      }
      head.append((char) next);
    }
    return head.toString();
  }

  private void serve(InetAddress address, Behaviour behaviour) throws IOException {
    var server = new ServerSocket();
    server.setReuseAddress(true);
    server.bind(new InetSocketAddress(address, target));
    servers.add(server);
    Thread.ofVirtual()
        .start(
            () -> {
              while (!server.isClosed()) {
                try {
                  Socket socket = server.accept();
                  Thread.ofVirtual().start(() -> handle(socket, behaviour));
                } catch (IOException _) {
                  return; // closed by the test
                }
              }
            });
  }

  private static void handle(Socket socket, Behaviour behaviour) {
    try (socket) {
      behaviour.serve(socket, head(socket));
    } catch (Exception _) {
      // the client sees that the connection ended
    }
  }

  private Members members(boolean first, boolean second) {
    return new Members(
        WEB,
        List.of(Routes.endpoint("web", target, Routes.host("a.test"))),
        Reachability.NEVER,
        List.of(
            new Member(ContainerId.of("shop", "web", 1), FIRST, first),
            new Member(ContainerId.of("shop", "web", 2), SECOND, second)));
  }
}

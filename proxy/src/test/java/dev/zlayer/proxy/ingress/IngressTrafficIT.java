package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Rotation;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
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
    port = FreePorts.take();
    target = FreePorts.take();
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

  @Test
  void aReplicaIsChosenAsItsEndpointSays() throws Exception {
    var busy = new CompletableFuture<String>();
    var ended = new CountDownLatch(1);
    serve(FIRST, (socket, head) -> answer(socket, head, "-1", busy, ended));
    serve(SECOND, (socket, head) -> answer(socket, head, "-2", busy, ended));

    choose(Routes.choosing("a.test", RouteSpec.Balance.ROUND_ROBIN, false, Optional.empty()));
    assertThat(answers("")).containsExactlyInAnyOrder("-1", "-2");
    choose(Routes.choosing("a.test", RouteSpec.Balance.CLIENT_ADDRESS, false, Optional.empty()));
    assertThat(answers("")).hasSize(1);
    choose(Routes.choosing("a.test", RouteSpec.Balance.ROUND_ROBIN, true, Optional.empty()));
    assertThat(answers("")).containsExactlyInAnyOrder("-1", "-2");
    assertThat(answers("Cookie: ZLAYER=s2\r\n")).containsExactly("-2");

    choose(Routes.choosing("a.test", RouteSpec.Balance.LEAST_CONNECTIONS, false, Optional.empty()));
    try (Socket open = connect()) {
      write(open, "GET /wait HTTP/1.1\r\nHost: a.test\r\n\r\n");
      String free = busy.get(20, TimeUnit.SECONDS).equals("-1") ? "-2" : "-1";
      // now and then an answer arrives before its connection is counted off, and both have one
      Awaitility.await().until(() -> answers("", 3).equals(Set.of(free)));
    } finally {
      ended.countDown();
    }
  }

  @Test
  void aReplicaThatTakesTooLongIsNotWaitedFor() throws Exception {
    var ended = new CountDownLatch(1);
    serve(FIRST, (_, _) -> assertThat(ended.await(20, TimeUnit.SECONDS)).isTrue());
    choose(
        Routes.choosing(
            "a.test", RouteSpec.Balance.ROUND_ROBIN, false, Optional.of(Duration.ofMillis(200))));
    try {
      assertThat(request("GET")).startsWith("HTTP/1.1 504");
    } finally {
      ended.countDown();
    }
  }

  private static void answer(
      Socket socket, String head, String word, CompletableFuture<String> busy, CountDownLatch ended)
      throws Exception {
    if (head.startsWith("GET /wait")) {
      busy.complete(word);
      assertThat(ended.await(20, TimeUnit.SECONDS)).isTrue();
    }
    write(socket, OK.replace("\r\n\r\nok", "\r\n\r\n" + word));
  }

  private void choose(RouteSpec route) throws InterruptedException {
    ingress.update(
        new Members(
            WEB,
            List.of(Routes.endpoint("web", target, route)),
            Reachability.NEVER,
            members(true, servers.size() > 1).members()));
  }

  /** Those that differ, of ten requests. */
  private Set<String> answers(String headers) throws IOException {
    return answers(headers, 10);
  }

  private Set<String> answers(String headers, int requests) throws IOException {
    var answers = new TreeSet<String>();
    for (int i = 0; i < requests; i++) {
      try (Socket client = connect()) {
        write(client, "GET / HTTP/1.1\r\nHost: a.test\r\n" + headers + "Connection: close\r\n\r\n");
        String response =
            new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        answers.add(response.substring(response.length() - 2));
      }
    }
    return answers;
  }

  /** One call, a stream in each direction, and an error, which gRPC sends in trailers. */
  @Test
  @Requires(Fact.GRPC)
  void grpcPassesInBothDirectionsWithItsTrailers() throws Exception {
    Path script = Path.of("src/test/resources/grpc/echo.py").toAbsolutePath();
    Process server =
        Processes.start(
            Command.of("/usr/bin/python3", script.toString(), "serve", Integer.toString(target)),
            directory.resolve("grpc.log").toFile());
    try {
      Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> listens(target));
      ingress.update(
          new Members(
              WEB,
              List.of(Routes.endpoint("web", target, Routes.http2("grpc.test"))),
              Reachability.NEVER,
              List.of(new Member(ContainerId.of("shop", "web", 1), FIRST, true))));

      assertThat(
              Processes.check(
                      Command.of(
                          "/usr/bin/python3",
                          script.toString(),
                          "call",
                          Integer.toString(port),
                          "grpc.test"),
                      Deadline.after(Duration.ofSeconds(60)))
                  .stdout()
                  .lines())
          .containsExactly(
              "you said hello",
              "1000009",
              "0,1,2",
              "re: one",
              "re: after re: one",
              "NOT_FOUND no such item kept");
    } finally {
      server.destroyForcibly();
    }
  }

  private static boolean listens(int port) {
    try (var _ = new Socket(FIRST, port)) {
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  /** As the agent listens unless it is told otherwise: on all addresses of both families. */
  @Test
  void clientsOfBothFamiliesHaveTheirOwnAddresses() throws Exception {
    serve(
        FIRST,
        (socket, head) -> {
          String body = String.join(" ", forwarded(head));
          write(
              socket,
              "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                  .formatted(body.length(), body));
        });
    IngressConfig both =
        IngressConfig.of(directory.resolve("both"), ":" + port, "127.0.0.1:443", true);
    try (var dual = Ingress.open(both, Rotation.NONE, TimeSource.monotonic(), new Supervisor())) {
      dual.update(members(true, false));
      assertThat(request("GET")).endsWith("127.0.0.1 for=127.0.0.1;proto=http");
      try (var client = new Socket("::1", port)) {
        client.setSoTimeout(20_000);
        write(client, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
            .endsWith("::1 for=\"[::1]\";proto=http");
      }
    } finally {
      new Haproxy(both, Pauses.REAL).stop();
    }
  }

  private static List<String> forwarded(String head) {
    return head.lines()
        .filter(line -> line.matches("(?i)(x-forwarded-for|forwarded): .*"))
        .map(line -> line.substring(line.indexOf(' ') + 1))
        .toList();
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

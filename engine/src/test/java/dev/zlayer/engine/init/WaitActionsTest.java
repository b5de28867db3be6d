package dev.zlayer.engine.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.spec.service.InitAction.WaitHttp;
import dev.zlayer.spec.service.InitAction.WaitTcp;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against real sockets and real servers. */
@Timeout(60)
class WaitActionsTest {
  private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();
  private static final Duration SHORT = Duration.ofMillis(300);
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration TICK = Duration.ofMillis(10);

  private static final SiblingNames NONE = _ -> Optional.empty();

  private static WaitTcpAction tcp(int port, Duration timeout) {
    return new WaitTcpAction(
        new WaitTcp(LOOPBACK.getHostAddress(), port, timeout, TICK), NONE, Pauses.REAL);
  }

  private static WaitHttpAction http(String url, Optional<Integer> status, Duration timeout)
      throws Exception {
    return http(url, status, timeout, Map.of("X-Key", "k"), SSLContext.getDefault());
  }

  private static WaitHttpAction http(
      String url,
      Optional<Integer> status,
      Duration timeout,
      Map<String, String> headers,
      SSLContext tls) {
    return new WaitHttpAction(
        new WaitHttp(url, status, Map.of(), timeout, TICK), headers, tls, NONE, Pauses.REAL);
  }

  /** Time passes between attempts only: each has as long as it takes on a busy machine. */
  private static void askInVain(String url, Optional<Integer> status) throws Exception {
    var passed = new AtomicLong();
    var action =
        new WaitHttpAction(
            new WaitHttp(url, status, Map.of(), LONG, LONG.dividedBy(3)),
            Map.of(),
            SSLContext.getDefault(),
            NONE,
            pause -> passed.addAndGet(pause.toNanos()));
    action.perform(Deadline.after(Duration.ofHours(1), passed::get));
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, LOOPBACK)) {
      return socket.getLocalPort();
    }
  }

  @Test
  void tcpWaitsForAPortThatOpensLate() throws Exception {
    int port = freePort();
    var attempts = new AtomicInteger();
    Pauses counting =
        duration -> {
          attempts.incrementAndGet();
          Pauses.REAL.pause(duration);
        };
    var action =
        new WaitTcpAction(
            new WaitTcp(LOOPBACK.getHostAddress(), port, Duration.ofSeconds(30), TICK),
            NONE,
            counting);
    try (var scope = new TaskScope("tcp")) {
      var done = scope.fork(() -> action.perform(Deadline.none()));
      org.awaitility.Awaitility.await().until(() -> attempts.get() >= 3);
      try (var _ = new ServerSocket(port, 1, LOOPBACK)) {
        scope.join();
        assertThat(done.result()).isEmpty();
      }
    }
  }

  @Test
  void tcpSaysWhatItWaitedForInVain() throws Exception {
    int port = freePort();

    assertThatThrownBy(() -> tcp(port, SHORT).perform(Deadline.none()))
        .isInstanceOf(ActionFailed.class)
        .hasMessageContaining(":%d did not accept connections within 300ms".formatted(port))
        .hasMessageContaining("refused");
    assertThatThrownBy(
            () ->
                new WaitTcpAction(
                        new WaitTcp("no-such-host.invalid", 80, SHORT, TICK), NONE, Pauses.REAL)
                    .perform(Deadline.none()))
        .hasMessageContaining("the name no-such-host.invalid is not known");
  }

  @Test
  void aSiblingIsFoundByTheNamesOfItsDeploymentOnceItIsReady() throws Exception {
    var ready = new AtomicReference<List<InetAddress>>(List.of());
    var lookups = new AtomicInteger();
    SiblingNames names =
        name -> {
          lookups.incrementAndGet();
          return name.equals("cache") ? Optional.of(ready.get()) : Optional.empty();
        };
    HttpServer server = HttpServer.create(new InetSocketAddress(LOOPBACK, 0), 0);
    var host = new AtomicReference<String>();
    server.createContext(
        "/ready",
        exchange -> {
          host.set(exchange.getRequestHeaders().getFirst("Host"));
          exchange.sendResponseHeaders(204, -1);
          exchange.close();
        });
    server.start();
    int port = server.getAddress().getPort();
    try (var scope = new TaskScope("siblings")) {
      var tcp = new WaitTcpAction(new WaitTcp("cache", port, LONG, TICK), names, Pauses.REAL);
      var http =
          new WaitHttpAction(
              new WaitHttp(
                  "http://cache:%d/ready".formatted(port), Optional.empty(), Map.of(), LONG, TICK),
              Map.of(),
              SSLContext.getDefault(),
              names,
              Pauses.REAL);
      var _ = scope.fork(() -> tcp.perform(Deadline.none()));
      var _ = scope.fork(() -> http.perform(Deadline.none()));
      org.awaitility.Awaitility.await().until(() -> lookups.get() > 4);
      ready.set(List.of(LOOPBACK));
      scope.join();
    } finally {
      server.stop(0);
    }
    assertThat(host.get()).isEqualTo("cache:" + port);
    ready.set(List.of());
    assertThatThrownBy(
            () ->
                new WaitTcpAction(new WaitTcp("cache", port, SHORT, TICK), names, Pauses.REAL)
                    .perform(Deadline.none()))
        .hasMessageContaining("no replica of 'cache' is ready");
  }

  @Test
  void tcpGivesUpOnAPeerThatDropsEverything() throws Exception {
    // a full backlog: the kernel does not answer further connections
    try (var full = new ServerSocket(0, 1, LOOPBACK);
        var first = new Socket();
        var second = new Socket()) {
      var address = new InetSocketAddress(LOOPBACK, full.getLocalPort());
      first.connect(address, 1000);
      second.connect(address, 1000);

      assertThatThrownBy(() -> tcp(full.getLocalPort(), SHORT).perform(Deadline.none()))
          .isInstanceOf(ActionFailed.class);
    }
  }

  private static HttpServer serve(AtomicInteger status) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(LOOPBACK, 0), 10);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(status.get(), -1);
          exchange.close();
        });
    server.start();
    return server;
  }

  private static String url(HttpServer server, String path) {
    return "http://%s:%d%s"
        .formatted(LOOPBACK.getHostAddress(), server.getAddress().getPort(), path);
  }

  @Test
  void httpWaitsForAServerThatTurnsHealthyLate() throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(LOOPBACK, 0), 10);
    var asked = new AtomicInteger();
    var key = new AtomicReference<String>();
    server.createContext(
        "/health",
        exchange -> {
          key.set(exchange.getRequestHeaders().getFirst("X-Key"));
          exchange.sendResponseHeaders(asked.incrementAndGet() < 4 ? 503 : 204, -1);
          exchange.close();
        });
    server.start();
    try {
      http(url(server, "/health"), Optional.empty(), Duration.ofSeconds(30))
          .perform(Deadline.none());
      assertThat(asked).hasValue(4);
      assertThat(key).hasValue("k");
    } finally {
      server.stop(0);
    }
  }

  @Test
  void httpWantsTheStatusThatWasAskedFor() throws Exception {
    var status = new AtomicInteger(418);
    HttpServer server = serve(status);
    try {
      http(url(server, "/"), Optional.of(418), LONG).perform(Deadline.none());
      assertThatThrownBy(() -> askInVain(url(server, "/"), Optional.of(200)))
          .hasMessageContaining("did not answer with status 200 within 30s: status 418");
      assertThatThrownBy(
              () -> http(url(server, "/"), Optional.empty(), SHORT).perform(Deadline.none()))
          .hasMessageContaining("a 2xx status");
    } finally {
      server.stop(0);
    }
  }

  @Test
  void httpFollowsRedirects() throws Exception {
    HttpServer server = serve(new AtomicInteger(200));
    server.createContext(
        "/old",
        exchange -> {
          exchange.getResponseHeaders().add("Location", "/new");
          exchange.sendResponseHeaders(302, -1);
          exchange.close();
        });
    try {
      http(url(server, "/old"), Optional.of(200), LONG).perform(Deadline.none());
    } finally {
      server.stop(0);
    }
  }

  /** The answer of whoever is asked decides, not that of somebody it names. */
  @Test
  void httpIsNotSentToAnotherServer() throws Exception {
    var asked = new AtomicInteger();
    HttpServer inside = HttpServer.create(new InetSocketAddress(LOOPBACK, 0), 10);
    inside.createContext(
        "/",
        exchange -> {
          asked.incrementAndGet();
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    inside.start();
    HttpServer server = serve(new AtomicInteger(200));
    server.createContext(
        "/away",
        exchange -> {
          exchange.getResponseHeaders().add("Location", url(inside, "/latest/meta-data"));
          exchange.sendResponseHeaders(302, -1);
          exchange.close();
        });
    try {
      assertThatThrownBy(() -> askInVain(url(server, "/away"), Optional.empty()))
          .hasMessageContaining("status 302");
      http(url(server, "/away"), Optional.of(302), LONG).perform(Deadline.none());
      assertThat(asked).hasValue(0);
    } finally {
      server.stop(0);
      inside.stop(0);
    }
  }

  @Test
  void httpGivesUpOnAPeerThatAcceptsAndSaysNothing() throws Exception {
    try (var mute = new ServerSocket(0, 5, LOOPBACK)) {
      String url = "http://%s:%d/".formatted(LOOPBACK.getHostAddress(), mute.getLocalPort());

      assertThatThrownBy(() -> http(url, Optional.empty(), SHORT).perform(Deadline.none()))
          .hasMessageContaining("no answer in time");
    }
  }

  @Test
  void httpGivesUpOnABodyThatNeverEnds() throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(LOOPBACK, 0), 10);
    var over = new CountDownLatch(1);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          try (OutputStream body = exchange.getResponseBody()) {
            body.write("drip".getBytes(StandardCharsets.UTF_8));
            body.flush();
            over.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    server.start();
    try {
      assertThatThrownBy(
              () -> http(url(server, "/"), Optional.empty(), SHORT).perform(Deadline.none()))
          .hasMessageContaining("no answer in time");
    } finally {
      over.countDown();
      server.stop(0);
    }
  }

  @Test
  void theStepsOwnLimitIsStronger() throws Exception {
    int port = freePort();
    long start = System.nanoTime();

    assertThatThrownBy(
            () -> tcp(port, Duration.ofHours(1)).perform(Deadline.after(Duration.ofMillis(50))))
        .isInstanceOf(ActionFailed.class);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
  }

  @Test
  void httpsTrustsWhomItIsToldToTrust(@TempDir Path directory) throws Exception {
    KeyStore keys = selfSigned(directory);
    var manager = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    manager.init(keys, "secret".toCharArray());
    SSLContext serving = SSLContext.getInstance("TLS");
    serving.init(manager.getKeyManagers(), null, null);
    HttpsServer server = HttpsServer.create(new InetSocketAddress(LOOPBACK, 0), 10);
    server.setHttpsConfigurator(new HttpsConfigurator(serving));
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    server.start();
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(keys);
    SSLContext trusting = SSLContext.getInstance("TLS");
    trusting.init(null, trust.getTrustManagers(), null);
    String url = "https://localhost:%d/".formatted(server.getAddress().getPort());
    try {
      http(url, Optional.empty(), Duration.ofSeconds(20), Map.of(), trusting)
          .perform(Deadline.none());
      assertThatThrownBy(() -> askInVain(url, Optional.empty())).hasMessageContaining("PKIX");
    } finally {
      server.stop(0);
    }
  }

  private static KeyStore selfSigned(Path directory) throws Exception {
    Path file = directory.resolve("keys.p12");
    Path java = Path.of(ProcessHandle.current().info().command().orElseThrow());
    Processes.check(
        Command.of(
            java.resolveSibling("keytool").toString(),
            "-genkeypair",
            "-keystore",
            file.toString(),
            "-storepass",
            "secret",
            "-alias",
            "test",
            "-keyalg",
            "EC",
            "-dname",
            "CN=localhost",
            "-ext",
            "san=dns:localhost,ip:127.0.0.1",
            "-validity",
            "2"),
        Deadline.after(Duration.ofSeconds(30)));
    KeyStore pair = KeyStore.getInstance("PKCS12");
    try (var in = Files.newInputStream(file)) {
      pair.load(in, "secret".toCharArray());
    }
    pair.setCertificateEntry("trusted", pair.getCertificate("test"));
    return pair;
  }

  @Test
  void aWrongAddressIsRefusedAtOnce() throws Exception {
    assertThatThrownBy(() -> http("http://[bad/", Optional.empty(), SHORT).perform(Deadline.none()))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }
}

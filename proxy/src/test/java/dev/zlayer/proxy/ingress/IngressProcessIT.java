package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.value.AddressRange;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ingress as the owner of a real HAProxy, with servers of this process on loopback. */
@Requires({Fact.ROOT, Fact.HAPROXY})
class IngressProcessIT {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final ServiceKey WEB = new ServiceKey("shop", "web");

  @TempDir private Path directory;
  private final List<HttpServer> servers = new ArrayList<>();
  private int port;
  private IngressConfig config;
  private Ingress ingress;

  @BeforeEach
  void open() throws Exception {
    port = FreePorts.take();
    config = IngressConfig.of(directory.resolve("i"), "127.0.0.1:" + port, "127.0.0.1:443", false);
    ingress = open(config);
  }

  @AfterEach
  void close() throws Exception {
    ingress.close();
    new Haproxy(config, Pauses.REAL).stop();
    servers.forEach(server -> server.stop(0));
  }

  @Test
  void everySettingIsOneThatHaproxyAccepts() throws Exception {
    int server = server(1);
    ingress.update(members(server, Routes.full(), 1));

    String answer = get("full.test", "/a.b+c/x", "Accept-Encoding: identity");

    assertThat(answer)
        .startsWith("HTTP/1.1 200")
        .contains("x-out: $HOME %[src]; x\r\n")
        .containsIgnoringCase("set-cookie: ZLAYER=s1; path=/; HttpOnly")
        .contains("1 /x")
        .contains("X-in=[100% \"in\" #$ %[src]]");
    assertThat(get("full.test", "/a.b+c/x", "Accept-Encoding: gzip"))
        .containsIgnoringCase("content-encoding: gzip");
    assertThat(get("full.test", "/aXb+c/x")).startsWith("HTTP/1.1 404");
  }

  /** How many of them fall into one second is up to the machine; the limit is far below. */
  @Test
  void aClientThatSendsTooMuchIsToldSo() throws Exception {
    ingress.update(members(server(1), Routes.full(), 1));
    var statuses = new TreeSet<String>();
    for (int i = 0; i < 2000 && !statuses.contains("429"); i++) {
      statuses.add(get("full.test", "/a.b+c/").substring(9, 12));
    }

    assertThat(statuses).containsExactly("200", "429");
  }

  @Test
  void theLastRouteEndsHaproxy() throws Exception {
    ingress.update(members(server(1), Routes.host("a.test"), 1));
    assertThat(get("a.test", "/")).contains("1 /");

    ingress.remove(WEB);

    assertThat(new Haproxy(config, Pauses.REAL).serving()).isEmpty();
    assertThatThrownBy(() -> get("a.test", "/")).isInstanceOf(IOException.class);
    ingress.update(members(server(2), Routes.host("a.test"), 1));
    assertThat(get("a.test", "/")).contains("2 /");
  }

  /** A master that has just started executes itself once more, and loses what it is sent. */
  @Test
  void aChangeRightAfterTheStartIsServed() throws Exception {
    var haproxy = new Haproxy(config, Pauses.REAL);
    HaproxyConfig first =
        HaproxyConfig.of(
            config,
            Haproxy.account(),
            List.of(),
            Map.of(ModeRules.MAP, Map.of(), IngressUsers.MAP, Map.of()));
    var second =
        new HaproxyConfig(
            first.text().replace(first.fingerprint(), "second"), first.files(), "second");
    for (int i = 0; i < 5; i++) {
      haproxy.write(first);
      haproxy.serve(first);
      haproxy.write(second);
      haproxy.serve(second);

      assertThat(haproxy.serving()).contains("second");
      haproxy.stop();
    }
  }

  @Test
  void moreReplicasThanPlacesAreServedAfterAReload() throws Exception {
    int server = server(1);
    ingress.update(members(server, Routes.host("a.test"), 1));
    ingress.update(members(server, Routes.host("a.test"), 12));

    assertThat(ingress.routes().getFirst().replicas()).hasSize(12);
    assertThat(new Haproxy(config, Pauses.REAL).servers("shop:web:web"))
        .filteredOn(Haproxy.ServerLine::ready)
        .hasSize(12);
    assertThat(get("a.test", "/")).contains("1 /");
  }

  @Test
  void whatHaproxyRefusesKeepsNobodyElseFromBeingServed() throws Exception {
    int server = server(1);
    ingress.update(members(server, Routes.host("a.test"), 1));
    var other = new ServiceKey("bad", "web");
    var refused =
        new Members(
            other,
            List.of(Routes.endpoint("web", server, Routes.withHeader("b.test", "it's"))),
            Reachability.NEVER,
            List.of());
    assertThatThrownBy(() -> ingress.update(refused))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("HAProxy refused");

    ingress.update(members(server, Routes.host("c.test"), 12));
    assertThat(get("c.test", "/")).contains("1 /");
    assertThat(ingress.routes()).hasSize(1);
  }

  /** As after an update of one of the programs: what it has kept is refused now. */
  @Test
  void whatIsKeptAndRefusedIsLeftOut() throws Exception {
    int server = server(1);
    ingress.update(members(server, Routes.host("a.test"), 1));
    ingress.close();
    var bad = new ServiceKey("bad", "web");
    var refused =
        new Members(
            bad,
            List.of(Routes.endpoint("web", server, Routes.withHeader("b.test", "it's"))),
            Reachability.NEVER,
            List.of());
    new IngressStore(config.directory()).save(bad, IngressEndpoint.of(refused, List.of()));

    try (var log = new Logged()) {
      ingress = open(config);
      Awaitility.await()
          .atMost(LIMIT)
          .until(
              log::messages,
              all -> all.stream().anyMatch(one -> one.startsWith("bad/web has endpoints that")));
      ingress.update(members(server, Routes.host("c.test"), 12));
      assertThat(get("c.test", "/")).contains("1 /");
      assertThat(ingress.routes()).hasSize(1);
      assertThatThrownBy(() -> ingress.update(refused)).hasMessageContaining("bad/web");
    }
    ingress.update(
        new Members(
            bad,
            List.of(Routes.endpoint("web", server, Routes.host("b.test"))),
            Reachability.NEVER,
            List.of()));
    assertThat(get("b.test", "/")).isNotEmpty();
    assertThat(ingress.routes()).hasSize(2);
    assertThat(get("c.test", "/")).contains("1 /");
  }

  @Test
  void clientsMayHaveAnyNumberOfAddresses() throws Exception {
    int server = server(1);
    List<AddressRange> many =
        IntStream.range(0, 300)
            .mapToObj(i -> AddressRange.parse("10.1." + i / 2 + ".0/24"))
            .toList();
    var own = new ArrayList<>(many);
    own.add(AddressRange.parse("127.0.0.1"));

    ingress.update(members(server, Routes.clients("a.test", own, many), 1));
    assertThat(get("a.test", "/")).contains("1 /");
    ingress.update(members(server, Routes.clients("a.test", own, own), 1));
    assertThat(get("a.test", "/")).startsWith("HTTP/1.1 403");
    ingress.update(members(server, Routes.clients("a.test", many, List.of()), 1));
    assertThat(get("a.test", "/")).startsWith("HTTP/1.1 403");
  }

  @Test
  void theLogOfHaproxyStaysSmall() throws Exception {
    Path log = config.directory().resolve("haproxy.log");
    ingress.update(members(server(1), Routes.host("a.test"), 1));
    Files.write(log, new byte[2 << 20], StandardOpenOption.APPEND);

    ingress.update(members(server(2), Routes.host("a.test"), 1));

    Awaitility.await().atMost(LIMIT).until(() -> Files.size(log) < 1 << 20);
    assertThat(get("a.test", "/")).contains("2 /");
  }

  @Test
  void theNextAgentForgetsWhatWasRemovedMeanwhile() throws Exception {
    ingress.update(members(server(1), Routes.host("a.test"), 1));
    ingress.close();

    ingress = open(config);
    assertThat(get("a.test", "/")).contains("1 /");
    ingress.retain(List.of());

    assertThat(ingress.routes()).isEmpty();
    assertThat(new Haproxy(config, Pauses.REAL).serving()).isEmpty();
  }

  @Test
  void aPortInUseIsNamed() throws Exception {
    try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      Members service = members(1, Routes.host("a.test"), 1);
      assertThatThrownBy(() -> ingress.update(service))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("the ingress cannot start: ")
          .hasMessageContaining("127.0.0.1:" + port);
      // services without routes have no part in that
      ingress.update(
          new Members(new ServiceKey("shop", "db"), List.of(), Reachability.NEVER, List.of()));
    }
    ingress.update(members(server(1), Routes.host("a.test"), 1));
    assertThat(get("a.test", "/")).contains("1 /");
  }

  /** The agent is away while the port is taken, or it would start HAProxy again meanwhile. */
  @Test
  void anIngressThatCannotStartAgainIsLoggedOnce() throws Exception {
    ingress.update(members(server(1), Routes.host("a.test"), 1));
    ingress.close();
    new Haproxy(config, Pauses.REAL).stop();
    try (var log = new Logged()) {
      try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        ingress = open(config);
        Awaitility.await().atMost(LIMIT).until(() -> alerts() >= 3);
      }
      Awaitility.await()
          .atMost(LIMIT)
          .ignoreExceptionsInstanceOf(IOException.class)
          .until(() -> get("a.test", "/").contains("1 /"));
      Awaitility.await()
          .atMost(LIMIT)
          .until(log::messages, messages -> messages.contains("the ingress works again"));
      assertThat(log.messages())
          .hasSize(2)
          .first(InstanceOfAssertFactories.STRING)
          .startsWith("tried again until it works: the ingress cannot start: ")
          .contains("127.0.0.1:" + port);
    }
  }

  /** What the state logs while this is open. */
  private static final class Logged extends Handler implements AutoCloseable {
    private final Logger logger = Logger.getLogger(IngressState.class.getName());
    private final List<String> messages = new CopyOnWriteArrayList<>();

    Logged() {
      logger.addHandler(this);
    }

    List<String> messages() {
      return List.copyOf(messages);
    }

    @Override
    public void publish(LogRecord line) {
      messages.add(new SimpleFormatter().formatMessage(line));
    }

    @Override
    public void flush() {
      // nothing is held back
    }

    @Override
    public void close() {
      logger.removeHandler(this);
    }
  }

  /** How often it failed to start. */
  private long alerts() throws IOException {
    return Files.readString(config.directory().resolve("haproxy.log"), StandardCharsets.ISO_8859_1)
        .lines()
        .filter(line -> line.startsWith("[ALERT]") && line.contains("cannot bind"))
        .count();
  }

  @Test
  void aMissingHaproxyIsNamedWithItsPackage() throws Exception {
    Path nowhere = directory.resolve("haproxy");
    try (Ingress without = open(config.withHaproxy(nowhere))) {
      Members service = members(1, Routes.host("a.test"), 1);
      assertThatThrownBy(() -> without.update(service))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessage(
              "shop/web: endpoint 'web': routing by host or path needs HAProxy, which is not"
                  + " installed; install the package haproxy");
      assertThat(without.routes()).isEmpty();
    }
    assertThat(Files.exists(config.directory().resolve("haproxy.cfg"))).isFalse();
  }

  private static Ingress open(IngressConfig config) throws InterruptedException {
    return Ingress.open(config, Rotation.NONE, TimeSource.monotonic(), new Supervisor());
  }

  private static Members members(int port, RouteSpec route, int count) {
    return new Members(
        WEB,
        List.of(Routes.endpoint("web", port, route)),
        Reachability.NEVER,
        IntStream.rangeClosed(1, count)
            .mapToObj(
                number ->
                    new Member(
                        ContainerId.of("shop", "web", number),
                        InetAddress.getLoopbackAddress(),
                        true))
            .toList());
  }

  /** Answers with its number, the path and a header. */
  private int server(int number) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body =
              "%d %s X-in=%s"
                  .formatted(
                      number, exchange.getRequestURI(), exchange.getRequestHeaders().get("X-In"))
                  .getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().add("Content-Type", "text/plain");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    servers.add(server);
    return server.getAddress().getPort();
  }

  private String get(String host, String path, String... headers) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(20_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      String request =
          "GET %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n"
              .formatted(
                  path,
                  host,
                  List.of(headers).isEmpty() ? "" : String.join("\r\n", headers) + "\r\n");
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }
}

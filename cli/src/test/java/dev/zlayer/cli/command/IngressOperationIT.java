package dev.zlayer.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What operators see of routes and change about them, with a real HAProxy and real containers. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.HAPROXY})
class IngressOperationIT {
  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: operated:1, pull_policy: never}
          command: [httpd, -f, -p, "8080", -h, /etc]
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: [shop.test, www.shop.test]}
            - {name: api, protocol: http, port: 8080, host: shop.test, path: /api}
        other:
          image: {name: operated:1, pull_policy: never}
          command: [httpd, -f, -p, "8080", -h, /etc]
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          endpoints: [{name: http, protocol: http, port: 8080, host: other.test}]
      """;

  @TempDir private static Path directory;
  private static DaemonFixture daemon;
  private static int port;

  @BeforeAll
  static void open() throws Exception {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    daemon =
        DaemonFixture.start(directory, Map.of("ZLAYER_INGRESS_HTTP", "127.0.0.1:" + port))
            .withBusybox("operated:1");
    Path file = Files.writeString(directory.resolve("shop.zlayer.yml"), FILE);
    daemon.ok("up", file.toString());
  }

  @AfterAll
  static void close() {
    if (daemon != null) {
      daemon.close();
    }
  }

  @Test
  void routesAreListedWithTheirReplicasAndRequests() throws Exception {
    await(() -> status("www.shop.test", "/hostname") == 200);
    assertThat(status("shop.test", "/missing")).isEqualTo(404);

    Json routes = daemon.json("ingress", "ls", "--json");
    assertThat(routes.items()).hasSize(4);
    Json first = routes.items().getFirst();
    assertThat(first.at("host").string()).contains("other.test");
    Json api = route(routes, "/api");
    assertThat(api.at("service").string()).contains("web");
    assertThat(api.at("ready").integer()).contains(1L);
    assertThat(api.at("state").string()).contains("serving");
    assertThat(daemon.ok("ingress", "ls").lines().findFirst().orElseThrow())
        .matches("HOST +PATH +SERVICE +PORT +READY +STATE +REQ/S +REQUESTS +ERRORS +CERTIFICATE");
    assertThat(daemon.ok("ingress", "ls", "--deployment", "none").lines()).hasSize(1);

    Json shown = daemon.json("ingress", "show", "shop/web", "--json");
    Json http = endpoint(shown, "http");
    assertThat(http.at("traffic").at("requests").integer().orElseThrow()).isGreaterThanOrEqualTo(2);
    assertThat(http.at("traffic").at("statuses").at("4xx").integer().orElseThrow()).isPositive();
    Json replica = http.at("replicas").items().getFirst();
    assertThat(replica.at("traffic").at("requests").integer().orElseThrow()).isPositive();
    assertThat(daemon.ok("ingress", "show", "shop/web"))
        .startsWith("shop/web: serving\n")
        .contains("endpoint http: shop.test, www.shop.test, path /, port 8080", "(all)");
    CliFixture.Result unknown = daemon.cli().run("ingress", "show", "shop/none");
    assertThat(unknown.code()).isNotZero();
    assertThat(unknown.err()).contains("no endpoint with a host or a path");
  }

  private static Json endpoint(Json shown, String name) {
    return shown.at("endpoints").items().stream()
        .filter(one -> one.at("name").string().orElse("").equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Json route(Json routes, String path) {
    return routes.items().stream()
        .filter(one -> one.at("path").string().orElse("").equals(path))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void requestsWaitWhileAServiceIsPausedAlsoWhenTheAgentDies() throws Exception {
    daemon.ok("ingress", "pause", "--hold", "60s", "shop/web");
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Integer> waiting = pool.submit(() -> status("shop.test", "/hostname"));
      await(() -> open(daemon.json("ingress", "show", "shop/web", "--json")) == 1);
      assertThat(status("other.test", "/hostname")).isEqualTo(200);

      daemon.kill();
      daemon.restart();

      assertThat(daemon.ok("ingress", "show", "shop/web")).startsWith("shop/web: paused\n");
      assertThat(waiting.isDone()).isFalse();
      assertThat(daemon.ok("ingress", "resume", "shop/web")).isEqualTo("shop/web: serving\n");
      assertThat(waiting.get(30, TimeUnit.SECONDS)).isEqualTo(200);
    } finally {
      daemon.ok("ingress", "resume", "shop/web");
    }
  }

  /** Master, worker and the shell that starts them again, at once. */
  @Test
  void aPauseNeedsNoReloadAndSurvivesHaproxy() throws Exception {
    await(() -> status("shop.test", "/hostname") == 200);
    List<Long> before = haproxy().map(ProcessHandle::pid).toList();
    daemon.ok("ingress", "pause", "--hold", "100ms", "shop/web");
    try {
      assertThat(status("shop.test", "/hostname")).isEqualTo(503);
      assertThat(haproxy().map(ProcessHandle::pid).toList()).isNotEmpty().isEqualTo(before);

      haproxy().forEach(ProcessHandle::destroyForcibly);

      await(() -> status("other.test", "/hostname") == 200);
      assertThat(haproxy().map(ProcessHandle::pid)).doesNotContainAnyElementsOf(before);
      assertThat(status("shop.test", "/hostname")).isEqualTo(503);
      assertThat(daemon.ok("ingress", "show", "shop/web")).startsWith("shop/web: paused\n");
    } finally {
      daemon.ok("ingress", "resume", "shop/web");
    }
    assertThat(status("shop.test", "/hostname")).isEqualTo(200);
  }

  private static Stream<ProcessHandle> haproxy() {
    return ProcessHandle.allProcesses()
        .filter(
            process -> {
              String line = process.info().commandLine().orElse("");
              return line.contains(directory.toString()) && line.contains("haproxy.cfg");
            });
  }

  @Test
  void newRequestsAreFollowed() throws Exception {
    await(() -> status("other.test", "/hostname?earlier") == 200);
    await(() -> logged("--tail", "1").contains("earlier"));
    Path output = directory.resolve("followed");
    Process follower =
        Processes.start(
            Command.of(daemon.process("ingress", "logs", "-f", "--tail", "0", "shop/other"))
                .withEnv(daemon.env()),
            output.toFile());
    try {
      await(
          () ->
              status("other.test", "/hostname?later") == 200
                  && Files.readString(output).contains("hostname?later"));
      assertThat(Files.readString(output)).doesNotContain("earlier");
    } finally {
      follower.destroyForcibly();
    }
  }

  private static long open(Json shown) {
    return endpoint(shown, "http").at("traffic").at("open").integer().orElse(0L);
  }

  @Test
  void aPauseThatIsTooLongAndMaintenanceAreAnsweredWith503() throws Exception {
    try {
      daemon.ok("ingress", "pause", "--hold", "100ms", "shop/web");
      assertThat(get("shop.test", "/hostname"))
          .startsWith("HTTP/1.1 503")
          .containsIgnoringCase("retry-after: 10");

      daemon.ok("ingress", "maintenance", "shop/web", "shop/other");
      assertThat(status("shop.test", "/api/x")).isEqualTo(503);
      assertThat(status("other.test", "/hostname")).isEqualTo(503);
      assertThat(daemon.ok("ingress", "ls")).contains("maintenance");

      daemon.ok("ingress", "resume", "shop/web", "shop/other");
      assertThat(status("shop.test", "/hostname")).isEqualTo(200);
      CliFixture.Result longer = daemon.cli().run("ingress", "pause", "--hold", "11m", "shop/web");
      assertThat(longer.err()).contains("at most 10m");
      assertThat(longer.code()).isNotZero();
    } finally {
      daemon.ok("ingress", "resume", "shop/web", "shop/other");
    }
  }

  @Test
  void requestsAreLoggedAsJsonAlsoWhileNoAgentRuns() throws Exception {
    await(() -> status("other.test", "/hostname?first") == 200);
    String hostile = "/x?\"}\\{\"status\":1";
    assertThat(status("other.test", hostile)).isEqualTo(404);
    daemon.kill();
    assertThat(status("other.test", "/hostname?without")).isEqualTo(200);
    daemon.restart();

    await(() -> logged("--tail", "1").contains("without"));
    String log = logged();
    List<Json> lines = log.lines().map(JsonText::parse).toList();
    assertThat(lines)
        .extracting(line -> line.at("uri").string().orElseThrow())
        .contains("/hostname?first", hostile, "/hostname?without");
    Json odd =
        lines.stream()
            .filter(line -> line.at("uri").string().orElse("").equals(hostile))
            .findFirst()
            .orElseThrow();
    assertThat(odd.at("status").integer()).contains(404L);
    assertThat(odd.at("host").string()).contains("other.test");
    assertThat(Instant.parse(odd.at("time").string().orElseThrow()))
        .isBetween(Instant.now().minusSeconds(120), Instant.now());
    assertThat(odd.at("id").string().orElseThrow()).hasSize(36);
    assertThat(logged("--since", "2100-01-01T00:00:00Z")).isEmpty();
    assertThat(daemon.ok("ingress", "logs", "shop/web")).doesNotContain("other.test");
    assertThat(daemon.ok("ingress", "show", "shop/other"))
        .containsPattern("last 5 minutes: [1-9][0-9]* requests, p50 [0-9]+ ms");
    assertThat(daemon.ok("status", "shop"))
        .containsPattern(
            "other: [0-9]+ requests/s; last 5 minutes: [1-9][0-9]* requests, [0-9]+ errors, p50"
                + " [0-9]+ ms");
  }

  private static String logged(String... options) {
    var words = new ArrayList<>(List.of("ingress", "logs"));
    words.addAll(List.of(options));
    words.add("shop/other");
    return daemon.ok(words.toArray(String[]::new));
  }

  private static int status(String host, String path) throws IOException {
    String response = get(host, path);
    assertThat(response).startsWith("HTTP/1.1 ");
    return Integer.parseInt(response.substring(9, 12));
  }

  private static String get(String host, String path) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(60_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      socket
          .getOutputStream()
          .write(
              "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
                  .formatted(path, host)
                  .getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  private static void await(Callable<Boolean> holds) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(50))
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsInstanceOf(IOException.class)
        .until(holds);
  }
}

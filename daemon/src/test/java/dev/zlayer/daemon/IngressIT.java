package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.echo;
import static dev.zlayer.daemon.IngressNode.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Routing by host and path, with a real HAProxy and real containers. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.CURL
})
class IngressIT {
  private static IngressNode node;

  @BeforeAll
  static void open() throws Exception {
    node = new IngressNode();
    node.up(
        "site",
        """
        front:
        %s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: [site.test, "*.site.test"], headers: {response: {X-Served: "100%% front"}}}
        api:
        %s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: site.test, path: /api, strip_prefix: true}
            - {name: old, protocol: http, port: 80, target_port: 8080, host: site.test, path: /api/v1}
            - {name: admin, protocol: http, port: 8080, host: site.test, path: /admin, deny: [127.0.0.0/8]}
        """
            .formatted(echo("front").indent(2), echo("back").indent(2)));
    node.running("site", "front");
    node.running("site", "api");
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void requestsGoToTheServiceOfTheirHostAndPath() throws Exception {
    assertThat(node.get("site.test", "/"))
        .startsWith("HTTP/1.1 200")
        .containsIgnoringCase("x-served: 100% front")
        .contains("front\nGET / HTTP/1.1");
    assertThat(node.get("SITE.test:80", "/apix")).contains("front\nGET /apix HTTP");
    assertThat(node.get("a.b.site.test", "/api")).contains("front\nGET /api HTTP");
    assertThat(node.get("site.test", "/api")).contains("back\nGET / HTTP");
    assertThat(node.get("site.test", "/api/x?y=%2f"))
        .contains("back\nGET /x?y=%2f HTTP")
        .contains("\nx-forwarded-prefix: /api");
    assertThat(node.get("site.test", "/api/v1/x")).contains("back\nGET /api/v1/x HTTP");
    assertThat(status(node.get("other.test", "/"))).isEqualTo(404);
    assertThat(status(node.get("site.test.evil.org", "/"))).isEqualTo(404);
    assertThat(
            IngressNode.curl(
                "--http2-prior-knowledge",
                "-o",
                "/dev/null",
                "-w",
                "%{http_version} %{http_code}",
                "-H",
                "Host: site.test",
                "http://127.0.0.1:%d/".formatted(node.port)))
        .isEqualTo("2 200");
  }

  /** They would be part of a redirect, or of a link that the service makes. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "evil.org/.site.test",
        "evil.org#.site.test",
        "evil.org?.site.test",
        "evil.org@www.site.test",
        "evil.org\\.site.test",
        "evil.org .site.test",
        "'\"<script>.site.test"
      })
  void aHostThatIsNoNameIsRefused(String host) throws Exception {
    assertThat(status(node.get(host, "/"))).isEqualTo(400);
  }

  @Test
  void clientsCannotForgeWhatTheIngressSaysAboutThem() throws Exception {
    String seen =
        node.get(
            "site.test",
            "/",
            "X-Forwarded-For: 6.6.6.6",
            "X_Forwarded_For: 6.6.6.6",
            "x-forwarded-host: evil.test",
            "X-Forwarded-Proto: https",
            "X-Forwarded-Prefix: /evil",
            "X-Real-IP: 6.6.6.6",
            "Forwarded: for=6.6.6.6",
            "Proxy: evil.test",
            "X-Request-Id: evil");

    assertThat(seen)
        .contains("x-forwarded-for: 127.0.0.1\n", "forwarded: for=127.0.0.1;proto=http")
        .contains("x-forwarded-proto: http\n", "x-forwarded-host: site.test\n")
        .contains("x-forwarded-port: " + node.port)
        .containsPattern("x-request-id: [0-9a-f-]{36}\r\n")
        .containsPattern("x-request-id: [0-9a-f-]{36}(\n|$)")
        .doesNotContain("6.6.6.6", "evil");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/admin",
        "/admin/",
        "//admin",
        "/%61dmin",
        "/x/../admin",
        "/x/%2e%2e/admin",
        "/./admin",
        "/admin;x=y",
        "/x%2f..%2fadmin",
        "/%2fadmin",
        "/..%5cadmin",
        "/\\admin",
        "/admin%00",
        "http://site.test/admin",
        "/api/../admin",
        "/api/..;/admin"
      })
  void noSpellingOfAPathPassesByItsRule(String path) throws Exception {
    assertThat(status(node.get("site.test", path))).isIn(400, 403);
  }

  /** What one side takes for a body is never a request for the other. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 44\r\n\r\n",
        "Transfer-Encoding: xchunked\r\nContent-Length: 44\r\n\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: 44\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "Content-Length: +44\r\n\r\n",
        "X: y\nContent-Length: 0\r\n Content-Length: 44\r\n\r\n"
      })
  void requestsCannotBeSmuggled(String head) throws Exception {
    String answers =
        node.send(
            "POST / HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n"
                + head
                + "GET /smuggled HTTP/1.1\r\nHost: site.test\r\n\r\n");

    assertThat(answers).startsWith("HTTP/1.1 ").doesNotContain("/smuggled");
    assertThat(answers.split("HTTP/1.1 [0-9]{3}", -1)).hasSize(2);
    if (status(answers) == 200) {
      assertThat(answers.toLowerCase(Locale.ROOT))
          .satisfiesAnyOf(
              text -> assertThat(text).doesNotContain("\ncontent-length: 44"),
              text -> assertThat(text).doesNotContain("transfer-encoding"));
    }
  }

  @Test
  void twoDeploymentsCannotHaveTheSameHostAndPath() throws Exception {
    node.up(
        "rival",
        """
        web:
        %s
          endpoints: [{name: http, protocol: http, port: 8080, host: ["x.site.test", SITE.test]}]
        """
            .formatted(echo("rival").indent(2)));
    try {
      IngressNode.await(
          "refused",
          () ->
              node.rest()
                  .get("/deployments/rival/services/web")
                  .text()
                  .contains(
                      "rival/web: endpoint 'http': site.test/ is already served by endpoint 'http'"
                          + " of site/front; write another host or path"));
      assertThat(node.get("site.test", "/")).contains("front\nGET");
    } finally {
      node.down("rival");
    }
  }

  @Test
  void replicasComeAndLeaveWithoutAReloadAndWithoutALostRequest() throws Exception {
    node.up("many", many("one"));
    try {
      node.running("many", "web");
      long worker = node.worker();
      var failures = ConcurrentHashMap.<String>newKeySet();
      var ended = new AtomicBoolean();
      try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
        List<Future<Integer>> clients =
            Stream.generate(() -> pool.submit(() -> load(failures, ended))).limit(2).toList();
        try {
          node.scale("many", "web", 3);
          IngressNode.await("three serve", () -> servers().size() == 3);
          node.scale("many", "web", 1);
          IngressNode.await("one serves", () -> servers().size() == 1);
          node.up("many", many("two"));
          IngressNode.await("updated", () -> node.get("many.test", "/").contains("two\nGET"));
          IngressNode.await(
              "only the new one",
              () -> {
                Set<String> all = servers();
                return all.size() == 1 && all.iterator().next().endsWith(" two");
              });
          node.running("many", "web");
        } finally {
          ended.set(true);
        }
        for (Future<Integer> client : clients) {
          assertThat(client.get(30, TimeUnit.SECONDS)).isPositive();
        }
      }
      assertThat(failures).isEmpty();
      assertThat(node.worker()).isEqualTo(worker);
    } finally {
      node.down("many");
    }
  }

  private static String many(String word) {
    return """
    web:
    %s
      scale: {mode: manual, replicas: 1}
      endpoints: [{name: http, protocol: http, port: 8080, host: many.test}]
    """
        .formatted(echo(word).indent(2))
        .replace("head=" + word, "head=\"$(hostname) " + word + "\"");
  }

  private static int load(Set<String> failures, AtomicBoolean ended) throws Exception {
    int requests = 0;
    while (!ended.get()) {
      String answer = node.get("many.test", "/");
      if (!answer.startsWith("HTTP/1.1 200")) {
        failures.add(answer);
      }
      requests++;
    }
    return requests;
  }

  /** The replicas that answer eight requests in a row. */
  private static Set<String> servers() throws Exception {
    var names = new TreeSet<String>();
    for (int i = 0; i < 8; i++) {
      String answer = node.get("many.test", "/");
      names.add(answer.substring(answer.indexOf("\r\n\r\n") + 4, answer.indexOf("\nGET")));
    }
    return names;
  }

  @Test
  void requestsWaitUntilAReplicaIsReady() throws Exception {
    node.up(
        "late",
        """
        web:
        %s
          scale: {mode: manual, replicas: 0}
          endpoints: [{name: http, protocol: http, port: 8080, host: late.test, hold: 20s}]
        short:
        %s
          scale: {mode: manual, replicas: 0}
          endpoints: [{name: http, protocol: http, port: 8080, host: short.test, hold: 100ms}]
        """
            .formatted(echo("late").indent(2), echo("short").indent(2)));
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      IngressNode.await("routed", () -> status(node.get("short.test", "/")) == 503);
      Future<String> held = pool.submit(() -> node.get("late.test", "/"));
      node.scale("late", "web", 1);

      assertThat(held.get(30, TimeUnit.SECONDS)).contains("late\nGET / HTTP/1.1");
    } finally {
      node.down("late");
    }
  }

  @Test
  void haproxyOutlivesTheAgentAndIsAdopted() throws Exception {
    long worker = node.worker();

    node.kill();
    assertThat(node.get("site.test", "/")).contains("front\nGET");
    node.start();

    node.running("site", "front");
    assertThat(node.get("site.test", "/")).contains("front\nGET");
    node.scale("site", "front", 2);
    IngressNode.await(
        "adopted", () -> node.service("site", "front").at("replicas").items().size() == 2);
    node.scale("site", "front", 1);
    IngressNode.await(
        "scaled down", () -> node.service("site", "front").at("replicas").items().size() == 1);
    assertThat(node.worker()).isEqualTo(worker);
  }

  /** How soon is measured by bench. */
  @Test
  void aWorkerThatWasKilledIsBackAndOnlyOpenRequestsAreLost() throws Exception {
    long worker = node.worker();
    try (var open = new Socket(InetAddress.getLoopbackAddress(), node.port)) {
      open.setSoTimeout(20_000);
      open.getOutputStream().write("GET / HTTP/1.1\r\n".getBytes(StandardCharsets.US_ASCII));

      assertThat(ProcessHandle.of(worker).orElseThrow().destroyForcibly()).isTrue();

      assertThat(ended(open)).isTrue();
    }
    IngressNode.await("another worker", () -> node.worker() != worker);
    IngressNode.await("it serves", () -> node.get("site.test", "/").contains("front\nGET"));
    for (int i = 0; i < 20; i++) {
      assertThat(node.get("site.test", "/")).contains("front\nGET");
    }
  }

  private static boolean ended(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketException _) {
      return true; // reset, since it had sent something
    }
  }

  /** Its container would be stopped at once otherwise. */
  @Test
  void aWebSocketContinuesAsLongAsItsEndpointSays() throws Exception {
    Duration drain = Duration.ofSeconds(6);
    node.up(
        "chat",
        """
        web:
          image: IMAGE
          command:
            - sh
            - -c
            - |
              cat > /chat <<'END'
              while IFS= read -r line; do [ "${#line}" -le 1 ] && break; done
              printf 'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\\r\\n\\r\\n'
              exec cat
              END
              exec nc -ll -p 8080 -e sh /chat
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          scale: {mode: manual, replicas: 1}
          endpoints: [{name: web, protocol: websocket, port: 8080, host: chat.test, drain: %ds}]
        """
            .formatted(drain.toSeconds()));
    node.running("chat", "web");
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), node.port)) {
      socket.setSoTimeout(30_000);
      assertThat(
              sent(
                  socket,
                  "GET / HTTP/1.1\r\n"
                      + "Host: chat.test\r\n"
                      + "Connection: Upgrade\r\n"
                      + "Upgrade: websocket\r\n"
                      + "Sec-WebSocket-Version: 13\r\n"
                      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                  "\r\n\r\n"))
          .startsWith("HTTP/1.1 101");
      assertThat(sent(socket, "before\n", "\n")).isEqualTo("before\n");
      long from = System.nanoTime();

      node.scale("chat", "web", 0);

      IngressNode.await("nobody serves", () -> status(node.get("chat.test", "/")) == 503);
      assertThat(sent(socket, "while draining\n", "\n")).isEqualTo("while draining\n");
      assertThat(ended(socket)).isTrue();
      assertThat(Duration.ofNanos(System.nanoTime() - from)).isGreaterThanOrEqualTo(drain);
    } finally {
      node.down("chat");
    }
  }

  /** What comes back, up to an end. */
  private static String sent(Socket socket, String text, String end) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    var answer = new StringBuilder();
    while (answer.indexOf(end) < 0) {
      int next = socket.getInputStream().read();
      if (next < 0) {
        throw new IOException("the connection ended after: " + answer);
      }
      answer.append((char) next);
    }
    return answer.toString();
  }
}

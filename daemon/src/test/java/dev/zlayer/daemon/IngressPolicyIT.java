package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.IngressNode.echo;
import static dev.zlayer.daemon.IngressNode.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who is let through, what is too large, and who clients are, with real HAProxy and containers. */
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
class IngressPolicyIT {
  private static final String BALANCER = "127.0.0.9";

  @TempDir private static Path directory;
  private static IngressNode node;

  @BeforeAll
  static void open() throws Exception {
    node =
        new IngressNode(
            FreePorts.take(), Map.of("ingress_proxy_protocol_from", BALANCER + ",fd00::/8"));
    users("ann:first\n");
    Files.writeString(
        directory.resolve("h2.cfg"),
        """
        defaults
          mode http
          timeout connect 5s
          timeout client 30s
          timeout server 30s
        frontend f
          bind :8080 proto h2
          http-request return status 200 content-type text/plain lf-string "with %[req.ver]"
        """);
    node.up(
        "site",
        """
        web:
        %s
          endpoints:
            - {name: plain, protocol: http, port: 8080, host: plain.test}
            - {name: closed, protocol: http, port: 8080, host: closed.test, basic_auth: users}
            - {name: small, protocol: http, port: 8080, host: small.test, max_body: 1000}
            - {name: known, protocol: http, port: 8080, host: known.test, allow: [127.0.0.8/32, 10.0.0.0/8]}
            - {name: one, protocol: http, port: 8080, host: one.test, send_proxy: v1}
            - {name: local, protocol: https, port: 8080, host: local.test, tls: self_signed}
        h2:
          image: IMAGE
          command: [/usr/sbin/haproxy, -f, /config/h2.cfg]
          storage:
            - {type: bind, source: /usr, target: /usr, readonly: true}
            - {type: bind, source: /usr/lib, target: /lib, readonly: true}
            - {type: bind, source: /usr/lib64, target: /lib64, readonly: true}
            - {type: bind, source: %s, target: /config, readonly: true}
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          endpoints:
            - {name: http, protocol: http, port: 8080, host: h2.test, replica_protocol: http2}
        files:
          image: IMAGE
          command: [httpd, -f, -p, "8080", -h, /etc]
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          scale: {mode: manual, replicas: 1}
          endpoints:
            - {name: http, protocol: http, port: 8080, host: files.test, maintenance_page: "<h1>back \\"soon\\" 100%% %%[src]</h1>"}
            - {name: text, protocol: http, port: 8080, host: text.test, hold: 100ms, maintenance_page: later}
        """
            .formatted(echo("web").indent(2), directory));
    node.running("site", "web");
    node.running("site", "files");
    node.running("site", "h2");
  }

  private static void users(String lines) throws InterruptedException {
    node.rest()
        .put("/secrets/users?deployment=site", lines.getBytes(StandardCharsets.UTF_8))
        .expect(200);
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static String login(String credentials) throws IOException {
    return node.get(
        "closed.test",
        "/",
        "Authorization: Basic "
            + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void onlyUsersOfTheSecretAreLetThrough() throws Exception {
    long worker = node.worker();
    assertThat(node.get("closed.test", "/"))
        .startsWith("HTTP/1.1 401")
        .containsIgnoringCase("www-authenticate: Basic realm=\"web\"");
    assertThat(login("ann:first"))
        .startsWith("HTTP/1.1 200")
        .contains("\nx-forwarded-user: ann")
        .doesNotContainIgnoringCase("\nauthorization:");
    for (String wrong :
        List.of("ann:second", "ann:", "ann", ":first", "bob:first", "", "ann:first ")) {
      assertThat(status(login(wrong))).as(wrong).isEqualTo(401);
    }
    assertThat(
            status(
                node.get("closed.test", "/", "Authorization: Bearer abc", "X-Forwarded-User: ann")))
        .isEqualTo(401);

    users("# who may\nann:second: with colon\nbob:geheim für alle\n");

    await(
        "the new ones and no others",
        () ->
            status(login("bob:geheim für alle")) == 200
                && status(login("ann:second: with colon")) == 200
                && status(login("ann:first")) == 401);
    assertThat(node.worker()).isEqualTo(worker);

    Path ingress = node.node.configured().config().directories().ingress();
    assertThat(Files.readString(ingress.resolve("users.map"))).contains(" bob\n");
    assertThat(Files.getPosixFilePermissions(ingress.resolve("users.map")))
        .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    assertThat(node.files()).noneMatch(kept -> kept.text().contains("geheim"));

    users("ann:first\n");
    await("the first again", () -> status(login("ann:first")) == 200);
  }

  @Test
  void aSecretThatCannotBeUsedIsNamedAndLetsNobodyThrough() throws Exception {
    node.up(
        "wrong",
        """
        web:
        %s
          endpoints: [{name: http, protocol: http, port: 8080, host: wrong.test, basic_auth: none}]
        """
            .formatted(echo("wrong").indent(2)));
    try {
      await(
          "named",
          () ->
              node.rest()
                  .get("/deployments/wrong/services/web")
                  .text()
                  .contains("secret 'none' does not exist, so nobody is let through"));
      assertThat(status(node.get("wrong.test", "/"))).isEqualTo(401);

      node.rest()
          .put("/secrets/none?deployment=wrong", "ann:x\n".getBytes(StandardCharsets.UTF_8))
          .expect(200);
      await(
          "let through",
          () -> status(node.get("wrong.test", "/", "Authorization: Basic YW5uOng=")) == 200);
    } finally {
      node.down("wrong");
    }
  }

  /** With a length, without one, and over HTTP/2, where even a body is not announced. */
  @ParameterizedTest
  @ValueSource(strings = {"--http1.1", "--http2-prior-knowledge"})
  void bodiesAreLimited(String version) throws Exception {
    Path fits = Files.write(directory.resolve("fits"), new byte[1000]);
    Path large = Files.write(directory.resolve("large"), new byte[1001]);

    assertThat(post(version, "--data-binary", "@" + fits)).isEqualTo("200");
    assertThat(post(version, "--data-binary", "@" + large)).isEqualTo("413");
    assertThat(post(version, "-X", "GET")).isEqualTo("200");
    assertThat(post(version, "-X", "POST")).isEqualTo("200");
    if (version.equals("--http1.1")) {
      assertThat(piped(version, fits)).isEqualTo("411");
    } else {
      assertThat(piped(version, fits)).as("answered, or the stream cancelled").isIn("411", "000");
    }
  }

  private static String post(String version, String... more) throws InterruptedException {
    return answered(version, ":", more);
  }

  private static String piped(String version, Path file) throws InterruptedException {
    return answered(version, "cat '%s'".formatted(file), "-X", "POST", "-T", "-");
  }

  /** Whether curl is content does not matter: it may not have sent everything. */
  private static String answered(String version, String input, String... more)
      throws InterruptedException {
    var command =
        new ArrayList<>(List.of("sh", "-c", input + " | curl \"$@\"", "sh", "-s", version));
    command.addAll(List.of("--max-time", "20", "-o", "/dev/null", "-w", "%{http_code}"));
    command.addAll(List.of("-H", "Host: small.test"));
    command.addAll(List.of(more));
    command.add("http://127.0.0.1:%d/".formatted(node.port));
    return Processes.run(Command.of(command), Deadline.after(Duration.ofSeconds(30))).stdout();
  }

  @Test
  void thePageIsShownInMaintenanceAndWhileNobodyServes() throws Exception {
    assertThat(status(node.get("files.test", "/hostname"))).isEqualTo(200);
    mode("maintenance");
    assertThat(node.get("files.test", "/"))
        .startsWith("HTTP/1.1 503")
        .containsIgnoringCase("content-type: text/html; charset=utf-8")
        .containsIgnoringCase("retry-after: 10")
        .endsWith("<h1>back \"soon\" 100% %[src]</h1>");
    mode("serving");
    node.scale("site", "files", 0);
    try {
      await(
          "nobody serves",
          () ->
              status(node.get("files.test", "/hostname")) == 503
                  && status(node.get("text.test", "/hostname")) == 503);
      assertThat(node.get("files.test", "/")).endsWith("<h1>back \"soon\" 100% %[src]</h1>");
      assertThat(node.get("text.test", "/"))
          .containsIgnoringCase("content-type: text/plain")
          .endsWith("\r\n\r\nlater");
    } finally {
      node.scale("site", "files", 1);
      await("serves again", () -> status(node.get("files.test", "/hostname")) == 200);
    }
  }

  private static void mode(String state) throws InterruptedException {
    node.rest()
        .put(
            "/ingress/services/site/files/mode",
            "{\"state\": \"%s\"}".formatted(state).getBytes(StandardCharsets.UTF_8))
        .expect(204);
  }

  @Test
  void loadBalancersSayWhoTheirClientIsAndOthersCannot() throws Exception {
    String header = "PROXY TCP4 203.0.113.7 198.51.100.1 1234 80\r\n";
    String request = "GET / HTTP/1.1\r\nHost: plain.test\r\nConnection: close\r\n\r\n";

    assertThat(send(BALANCER, node.port, header + request))
        .startsWith("HTTP/1.1 200")
        .contains("\nx-forwarded-for: 203.0.113.7\n");
    assertThat(send("127.0.0.1", node.port, header + request)).startsWith("HTTP/1.1 400");
    assertThat(send("127.0.0.1", node.port, request)).contains("\nx-forwarded-for: 127.0.0.1\n");
    assertThat(send(BALANCER, node.port, request))
        .as("who has to say it and does not is not served")
        .doesNotContain("HTTP/1.1 200");
    assertThat(
            IngressNode.curl(
                "-k",
                "--haproxy-protocol",
                "--interface",
                BALANCER,
                "--resolve",
                "local.test:%d:127.0.0.1".formatted(node.https),
                "https://local.test:%d/".formatted(node.https)))
        .contains("\nx-forwarded-for: " + BALANCER + "\n");
  }

  @Test
  void onlyAllowedAddressesAreLetThroughWhateverTheirHeadersSay() throws Exception {
    String request =
        "GET / HTTP/1.1\r\nHost: known.test\r\nX-Forwarded-For: %s\r\nConnection: close\r\n\r\n";

    assertThat(send("127.0.0.8", node.port, request.formatted("192.0.2.1")))
        .startsWith("HTTP/1.1 200");
    assertThat(send("127.0.0.1", node.port, request.formatted("10.0.0.1")))
        .startsWith("HTTP/1.1 403");
  }

  /** The replica accepts nothing else. */
  @Test
  void replicasCanBeAskedWithHttp2() throws Exception {
    assertThat(node.get("h2.test", "/")).startsWith("HTTP/1.1 200").endsWith("with 2.0");
    assertThat(
            IngressNode.curl(
                "--http2-prior-knowledge",
                "-w",
                " from %{http_version}",
                "-H",
                "Host: h2.test",
                "http://127.0.0.1:%d/".formatted(node.port)))
        .isEqualTo("with 2.0 from 2");
  }

  @Test
  void replicasLearnWhoTheClientIs() throws Exception {
    assertThat(node.get("one.test", "/"))
        .containsPattern(
            "web\nPROXY TCP4 127.0.0.1 127.0.0.1 [0-9]+ %d\nGET /".formatted(node.port));
  }

  /** Empty when the connection was closed or reset. */
  private static String send(String from, int port, String bytes) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(20_000);
      socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (SocketException _) {
      return "";
    }
  }
}

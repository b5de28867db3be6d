package dev.zlayer.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.acme.Pebble;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLSocket;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** The example with HTTPS, and certificates that cannot be had, as operators see them. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.CURL,
  Fact.PEBBLE
})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class IngressHttpsIT {
  private static final Path EXAMPLE = Path.of("..", "examples", "web.zlayer.yml");

  @TempDir private static Path directory;
  private static Pebble pebble;
  private static DaemonFixture daemon;
  private static int https;

  @BeforeAll
  static void open() throws Exception {
    int http = freePort();
    https = freePort();
    pebble = Pebble.start(directory.resolve("pebble"), Pebble.Options.of(http));
    daemon =
        DaemonFixture.start(
                directory,
                Map.of(
                    "ZLAYER_INGRESS_HTTP",
                    "127.0.0.1:" + http,
                    "ZLAYER_INGRESS_HTTPS",
                    "127.0.0.1:" + https,
                    "ZLAYER_ACME_DIRECTORY",
                    pebble.directory(),
                    "ZLAYER_ACME_CA_BUNDLE",
                    pebble.bundle().toString(),
                    "ZLAYER_ACME_ACCEPT_TERMS",
                    "true"))
            .withBusybox("busybox:1.36");
  }

  @AfterAll
  static void close() {
    if (daemon != null) {
      daemon.close();
    }
    if (pebble != null) {
      pebble.close();
    }
  }

  @Test
  @Order(1)
  void theExampleIsServedWithTlsAndWithOneOtherLineByAnAcmeServer() throws Exception {
    Path file = Files.copy(EXAMPLE, directory.resolve("web.zlayer.yml"));
    daemon.ok("up", file.toString(), "--wait", "60s");
    Path local = Files.writeString(directory.resolve("ca.pem"), daemon.ok("ingress", "ca"));

    assertThat(curl("hello.localhost", local, "--http1.1").stdout())
        .startsWith("HTTP/1.1 200")
        .contains("hello from");
    assertThat(curl("hello.localhost", local).stdout()).startsWith("HTTP/2 200");
    assertThat(daemon.ok("ingress", "certs")).contains("hello.localhost", "self_signed");

    String text = Files.readString(file);
    String changed = text.replace("tls: self_signed", "tls: acme");
    assertThat(changed).isNotEqualTo(text);
    Files.writeString(file, changed);
    daemon.ok("up", file.toString(), "--wait", "60s");
    Path root = Files.writeString(directory.resolve("root.pem"), pebble.root());

    await(() -> curl("hello.localhost", root).stdout().startsWith("HTTP/2 200"));
    assertThat(certificate("hello.localhost").at("kind").string()).contains("acme");
    assertThat(daemon.ok("doctor")).contains("host-certificates");
    daemon.ok("ingress", "revoke", "hello.localhost");
    assertThat(daemon.cli().run("ingress", "revoke", "other.test").code()).isNotZero();
    assertThat(curl("hello.localhost", root).stdout()).startsWith("HTTP/2 200");
    daemon.ok("down", "hello");
    assertThat(curl("hello.localhost", root).success()).isFalse();
  }

  /**
   * The server of names sends the authority to an address where nobody answers. Last of all: an
   * authority that could not be reached is not asked again for a minute.
   */
  @Test
  @Order(3)
  void whyAHostHasNoCertificateIsShown() throws Exception {
    pebble.address("lost.test", "127.0.0.9");
    up("lost", "lost.test", "acme");
    up("unset", "unset.test", "{secret: missing}");

    await(() -> error("lost.test").contains("the authority could not validate lost.test"));
    assertThat(error("unset.test")).contains("secret 'missing' was never set");
    assertThat(daemon.ok("ingress", "certs")).contains("lost.test", "could not validate");
    assertThat(daemon.cli().run("doctor").out())
        .contains("unset.test has none: secret 'missing' was never set");
    assertThat(daemon.ok("events", "--json")).contains("certificate.failed");

    pebble.down();
    try {
      up("down", "down.test", "acme");
      await(() -> error("down.test").contains("cannot be reached"));
    } finally {
      pebble.up();
    }
    for (String deployment : List.of("lost", "unset", "down")) {
      daemon.ok("down", deployment);
    }
    assertThat(daemon.json("ingress", "certs", "--json").toString())
        .doesNotContain("lost.test", "unset.test", "down.test");
  }

  @Test
  @Order(2)
  void webSocketsPassThroughTls() throws Exception {
    String server =
        """
        version: v1
        deployment: chat
        services:
          web:
            image: {name: busybox:1.36, pull_policy: never}
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
            endpoints: [{name: web, protocol: websocket, port: 8080, host: chat.test, tls: self_signed}]
        """;
    Path file = Files.writeString(directory.resolve("chat.zlayer.yml"), server);
    daemon.ok("up", file.toString(), "--wait", "60s");
    Path local = Files.writeString(directory.resolve("chat.pem"), daemon.ok("ingress", "ca"));
    var context = new TlsFiles(Optional.of(local), Optional.empty()).context();
    try (var plain = new Socket()) {
      plain.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), https), 5_000);
      plain.setSoTimeout(20_000);
      try (var socket =
          (SSLSocket) context.getSocketFactory().createSocket(plain, "chat.test", https, true)) {
        var parameters = socket.getSSLParameters();
        parameters.setServerNames(List.of(new SNIHostName("chat.test")));
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket
            .getOutputStream()
            .write(
                ("GET / HTTP/1.1\r\nHost: chat.test\r\nUpgrade: websocket\r\nConnection:"
                        + " Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
                        + " dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
        String head = read(socket, "\r\n\r\n");
        assertThat(head).startsWith("HTTP/1.1 101").containsIgnoringCase("upgrade: websocket");
        socket.getOutputStream().write(new byte[] {(byte) 0x82, 5, 'h', 'e', 'l', 'l', 'o'});
        assertThat(read(socket, "hello")).endsWith("hello");
      }
    }
    daemon.ok("down", "chat");
  }

  private static String read(Socket socket, String end) throws IOException {
    var text = new StringBuilder();
    while (!text.toString().endsWith(end)) {
      int next = socket.getInputStream().read();
      assertThat(next).as("after " + text).isNotNegative();
      text.append((char) next);
    }
    return text.toString();
  }

  private static void up(String deployment, String host, String tls) throws IOException {
    Path file =
        Files.writeString(
            directory.resolve(deployment + ".zlayer.yml"),
            """
            version: v1
            deployment: %s
            services:
              web:
                image: {name: busybox:1.36, pull_policy: never}
                command: [httpd, -f, -p, "8080", -h, /etc]
                stop_grace_period: 0s
                endpoints: [{name: web, protocol: https, port: 8080, host: %s, tls: %s}]
            """
                .formatted(deployment, host, tls));
    daemon.ok("up", file.toString(), "--wait", "60s");
  }

  private static String error(String host) {
    return certificate(host).at("error").string().orElse("");
  }

  private static Json certificate(String host) {
    return daemon.json("ingress", "certs", "--json").items().stream()
        .filter(one -> one.at("host").string().orElse("").equals(host))
        .findFirst()
        .orElseThrow();
  }

  private static CommandResult curl(String host, Path authority, String... more)
      throws InterruptedException {
    var command = new ArrayList<>(List.of("curl", "-sS", "-i", "--max-time", "20"));
    command.addAll(List.of("--cacert", authority.toString()));
    command.addAll(List.of("--resolve", host + ":" + https + ":127.0.0.1"));
    command.addAll(Arrays.asList(more));
    command.add("https://%s:%d/".formatted(host, https));
    return Processes.run(Command.of(command), Deadline.after(Duration.ofSeconds(30)));
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static void await(Callable<Boolean> holds) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .until(holds);
  }
}

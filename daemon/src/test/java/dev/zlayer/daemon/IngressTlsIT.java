package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.IngressNode.echo;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.acme.Pebble;
import dev.zlayer.testkit.registry.SelfSigned;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** HTTPS of endpoints, with a real HAProxy, real containers, curl and a real ACME server. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.CURL,
  Fact.WRK,
  Fact.H2LOAD,
  Fact.PEBBLE
})
class IngressTlsIT {
  @TempDir private static Path directory;
  private static IngressNode node;
  private static Pebble pebble;
  private static Path authority;

  @BeforeAll
  static void open() throws Exception {
    int http = FreePorts.take();
    pebble = Pebble.start(directory.resolve("pebble"), Pebble.Options.of(http));
    node =
        new IngressNode(
            http,
            Map.of(
                "acme_directory",
                pebble.directory(),
                "acme_ca_bundle",
                pebble.bundle().toString(),
                "acme_accept_terms",
                "true"));
    authority =
        Files.writeString(
            directory.resolve("ca.pem"), node.rest().get("/ingress/ca").expect(200).text());
    secret("own.test");
    node.up(
        "site",
        """
        web:
        %s
          endpoints:
            - {name: local, protocol: https, port: 8080, host: [a.test, "*.w.test"], tls: self_signed, hsts: 1h}
            - {name: both, protocol: https, port: 8080, host: both.test, tls: {self_signed: true}, redirect_http: false}
            - {name: acme, protocol: https, port: 8080, host: acme.test, tls: acme}
            - {name: plain, protocol: http, port: 8080, host: a.test, path: /plain}
        files:
          image: IMAGE
          command: [httpd, -f, -p, "8080", -h, /etc]
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          endpoints: [{name: own, protocol: https, port: 8080, host: own.test, tls: {secret: own}}]
        """
            .formatted(echo("web").indent(2)));
    node.running("site", "web");
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
    if (pebble != null) {
      pebble.close();
    }
  }

  /** A new certificate each time, for the endpoint 'own'. */
  private static void secret(String host) throws Exception {
    Path made = Files.createTempDirectory(directory, "own");
    SelfSigned.make(made, host);
    String pem =
        Files.readString(SelfSigned.certificate(made)) + Files.readString(SelfSigned.key(made));
    Files.copy(
        SelfSigned.certificate(made),
        directory.resolve("own.pem"),
        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    node.rest()
        .put("/secrets/own?deployment=site", pem.getBytes(StandardCharsets.UTF_8))
        .expect(200);
  }

  private static CommandResult curl(String host, String path, Path ca, String... more)
      throws InterruptedException {
    var command =
        new ArrayList<>(
            List.of(
                "curl",
                "-sS",
                "-i",
                "--max-time",
                "20",
                "--cacert",
                ca.toString(),
                "--resolve",
                host + ":" + node.https + ":127.0.0.1"));
    command.addAll(Arrays.asList(more));
    command.add("https://%s:%d%s".formatted(host, node.https, path));
    return Processes.run(Command.of(command), Deadline.after(Duration.ofSeconds(30)));
  }

  @Test
  void hostsAreServedWithCertificatesOfTheLocalAuthority() throws Exception {
    assertThat(curl("a.test", "/x", authority, "--http1.1").stdout())
        .startsWith("HTTP/1.1 200")
        .containsIgnoringCase("strict-transport-security: max-age=3600")
        .contains("web\nGET /x HTTP/1.1")
        .contains("\nx-forwarded-proto: https\n", "forwarded: for=127.0.0.1;proto=https")
        .contains("\nx-forwarded-port: " + node.https);
    assertThat(curl("a.test", "/x", authority).stdout()).startsWith("HTTP/2 200");
    assertThat(curl("any.w.test", "/", authority).stdout()).startsWith("HTTP/2 200");
    assertThat(curl("a.test", "/plain", authority).stdout())
        .as("a path that is only served without TLS belongs to the host's endpoint with it")
        .contains("web\nGET /plain");
    CommandResult unknown = curl("other.test", "/", authority);
    assertThat(unknown.success()).isFalse();
    assertThat(unknown.stderr()).contains("unrecognized name");
    assertThat(curl("a.test", "/", authority, "--tls-max", "1.1").success()).isFalse();
  }

  @Test
  void aHostIsNotServedOnConnectionsForAnother() throws Exception {
    assertThat(curl("a.test", "/", authority, "-H", "Host: own.test").stdout())
        .startsWith("HTTP/2 421");
    assertThat(curl("any.w.test", "/", authority, "-H", "Host: a.test").stdout())
        .startsWith("HTTP/2 421");
    assertThat(curl("a.test", "/", authority, "-H", "Host: A.test.:1").stdout())
        .startsWith("HTTP/2 200");
  }

  @Test
  void keysAreReadableByRootAlone() throws Exception {
    int keys = 0;
    for (IngressNode.Kept kept : node.files()) {
      if (kept.text().contains("PRIVATE KEY")) {
        assertThat(PosixFilePermissions.toString(kept.permissions()))
            .as(kept.file().toString())
            .isEqualTo("rw-------");
        keys++;
      }
    }
    assertThat(keys).isPositive();
  }

  @Test
  void requestsWithoutTlsAreRedirected() throws Exception {
    assertThat(node.get("a.test", "/x?y=%2f"))
        .startsWith("HTTP/1.1 308")
        .containsIgnoringCase("location: https://a.test:%d/x?y=%%2f\r\n".formatted(node.https));
    assertThat(node.get("a.test", "/plain")).contains("web\nGET /plain");
    assertThat(node.get("both.test", "/")).contains("web\nGET / HTTP", "x-forwarded-proto: http\n");
    assertThat(curl("both.test", "/", authority).stdout()).contains("x-forwarded-proto: https");
  }

  /** Requests on connections that exist, and new ones with a handshake each. */
  @Test
  void anotherCertificateIsServedWithoutAReloadAndWithoutALostRequest() throws Exception {
    await("served", () -> curl("own.test", "/hostname", own()).success());
    long worker = node.worker();
    Path before = Files.copy(own(), directory.resolve("before.pem"));
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<String> kept = pool.submit(() -> wrk());
      Future<String> handshakes = pool.submit(() -> wrk("-H", "Connection: close"));
      do {
        secret("own.test");
        await("the new one is served", () -> curl("own.test", "/hostname", own()).success());
      } while (!kept.isDone() || !handshakes.isDone());
      for (Future<String> load : List.of(kept, handshakes)) {
        assertThat(load.get(30, TimeUnit.SECONDS))
            .contains("requests in")
            .doesNotContain(" 0 requests in", "Socket errors", "Non-2xx");
      }
    }
    assertThat(curl("own.test", "/hostname", before).success()).as("the old one").isFalse();
    assertThat(node.worker()).isEqualTo(worker);
  }

  @Test
  void manyRequestsShareTheirConnections() throws Exception {
    await("served", () -> curl("own.test", "/hostname", own()).success());
    assertThat(
            Processes.check(
                    Command.of(
                        "h2load",
                        "-n",
                        "1000",
                        "-c",
                        "4",
                        "-m",
                        "20",
                        "--connect-to=127.0.0.1:" + node.https,
                        "https://own.test:%d/hostname".formatted(node.https)),
                    Deadline.after(Duration.ofSeconds(60)))
                .stdout())
        .contains("Application protocol: h2", "1000 succeeded, 0 failed, 0 errored, 0 timeout");
  }

  /** In a view of the file system where the name is known. */
  private static String wrk(String... more) throws Exception {
    Path hosts = Files.createTempFile(directory, "hosts", "");
    Files.writeString(hosts, "127.0.0.1 own.test\n");
    var command =
        new ArrayList<>(
            List.of(
                "unshare",
                "-m",
                "sh",
                "-c",
                "mount --bind \"$0\" /etc/hosts && exec wrk \"$@\"",
                hosts.toString(),
                "-t1",
                "-c8",
                "-d5s",
                "--timeout",
                "20s"));
    command.addAll(Arrays.asList(more));
    command.add("https://own.test:%d/hostname".formatted(node.https));
    return Processes.check(Command.of(command), Deadline.after(Duration.ofSeconds(60))).stdout();
  }

  private static Path own() {
    return directory.resolve("own.pem");
  }

  @Test
  void certificatesAreOrderedAndRevoked() throws Exception {
    Path root = Files.writeString(directory.resolve("root.pem"), pebble.root());
    await("ordered", () -> curl("acme.test", "/", root).stdout().startsWith("HTTP/2 200"));
    Json before = certificate("acme.test");
    assertThat(before.at("kind").string()).contains("acme");
    assertThat(before.at("renewal").string()).isPresent();
    assertThat(before.at("error").string()).isEmpty();
    assertThat(node.rest().get("/metrics").expect(200).text())
        .containsPattern("zlayer_certificate_expiry_timestamp_seconds\\{host=\"acme.test\"} [1-9]");
    String serial = serial("acme.test");

    node.rest().post("/ingress/certificates/acme.test/revoke").expect(204);

    assertThat(pebble.revoked(serial)).isTrue();
    assertThat(curl("acme.test", "/", root).stdout())
        .as("served until the next one is there, which is ordered a minute after the first")
        .startsWith("HTTP/2 200");
    assertThat(Instant.parse(certificate("acme.test").at("renewal").string().orElseThrow()))
        .isBefore(Instant.now().plus(Duration.ofMinutes(2)));
    assertThat(node.rest().post("/ingress/certificates/a.test/revoke").status()).isEqualTo(404);
  }

  /** Of the certificate that is served now; empty when there is none. */
  private static String serial(String host) throws InterruptedException {
    return Processes.run(
            Command.of(
                "sh",
                "-c",
                "openssl s_client -connect 127.0.0.1:%d -servername %s </dev/null 2>/dev/null"
                        .formatted(node.https, host)
                    + " | openssl x509 -noout -serial"),
            Deadline.after(Duration.ofSeconds(20)))
        .stdout()
        .strip()
        .replace("serial=", "");
  }

  private static Json certificate(String host) throws InterruptedException {
    return node.rest().get("/ingress/certificates").expect(200).json().items().stream()
        .filter(one -> one.at("host").string().orElse("").equals(host))
        .findFirst()
        .orElseThrow();
  }
}

package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static dev.zlayer.daemon.IngressNode.echo;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.registry.SelfSigned;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connections with TLS beside HTTPS on one port, with a real HAProxy and real containers. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.OPENSSL,
  Fact.CURL
})
class IngressStreamIT {
  @TempDir private static Path directory;
  private static IngressNode node;
  private static Path authority;

  @BeforeAll
  static void open() throws Exception {
    SelfSigned.make(directory, "own.test");
    node = new IngressNode();
    authority =
        Files.writeString(
            directory.resolve("ca.pem"), node.rest().get("/ingress/ca").expect(200).text());
    node.up(
        "data",
        """
        web:
        %s
          endpoints:
            - {name: web, protocol: https, port: 8080, host: web.test, tls: self_signed}
        own:
          image: IMAGE
          command: [/usr/bin/openssl, s_server, -accept, "8443", -cert, %s, -key, %s, -rev]
          storage:
            - {type: bind, source: /usr, target: /usr, readonly: true}
            - {type: bind, source: /usr/lib, target: /lib, readonly: true}
            - {type: bind, source: /usr/lib64, target: /lib64, readonly: true}
            - {type: bind, source: %s, target: %s, readonly: true}
          health: {check: {type: tcp, port: 8443}, interval: 200ms, timeout: 5s}
          stop_grace_period: 0s
          endpoints:
            - {name: own, protocol: tcp, port: 8443, host: own.test, tls: passthrough}
        db:
        %s
          scale: {mode: manual, replicas: 1}
          endpoints:
            - {name: db, protocol: tcp, port: 9000, host: [db.test, "*.db.test"], tls: self_signed, hold: 20s}
            - {name: closed, protocol: tcp, port: 9000, host: closed.test, tls: self_signed, deny: [127.0.0.0/8]}
        """
            .formatted(
                echo("web").indent(2),
                SelfSigned.certificate(directory),
                SelfSigned.key(directory),
                directory,
                directory,
                lines().indent(2)));
    for (String service : List.of("web", "own", "db")) {
      node.running("data", service);
    }
  }

  /** Answers each line with its own name and the line. */
  private static String lines() {
    return """
    image: IMAGE
    command:
      - sh
      - -c
      - |
        printf 'while read -r line; do echo "$(hostname) $line"; done' > /lines
        exec nc -ll -p 9000 -e sh /lines
    health: {check: {type: tcp, port: 9000}, interval: 200ms, timeout: 5s}
    stop_grace_period: 0s
    """;
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void aConnectionIsPassedToTheContainerThatHasTheCertificate() throws Exception {
    try (SSLSocket socket = connect("own.test", SelfSigned.certificate(directory))) {
      assertThat(line(socket, "hello")).isEqualTo("olleh");
    }
    assertThatThrownBy(() -> connect("own.test", authority)).isInstanceOf(IOException.class);
  }

  @Test
  void aConnectionIsDecryptedForAContainerThatHasNone() throws Exception {
    try (SSLSocket socket = connect("db.test", authority)) {
      assertThat(line(socket, "hello")).endsWith(" hello");
      assertThat(line(socket, "again")).endsWith(" again");
    }
    try (SSLSocket socket = connect("one.db.test", authority)) {
      assertThat(line(socket, "hello")).endsWith(" hello");
    }
    assertThatThrownBy(
            () -> {
              try (SSLSocket socket = connect("closed.test", authority)) {
                line(socket, "hello");
              }
            })
        .as("the client's address is that of the client")
        .isInstanceOf(IOException.class);
  }

  @Test
  void httpsOnTheSamePortKeepsTheAddressOfItsClients() throws Exception {
    String url = "https://web.test:%d/".formatted(node.https);
    String resolve = "web.test:%d:127.0.0.1".formatted(node.https);

    assertThat(IngressNode.curl("--cacert", authority.toString(), "--resolve", resolve, "-i", url))
        .startsWith("HTTP/2 200")
        .contains("\nx-forwarded-for: 127.0.0.1\n")
        .contains("\nx-forwarded-port: %d\n".formatted(node.https));
  }

  @Test
  void whatIsNoHandshakeOrForNobodyIsRefused() throws Exception {
    assertThatThrownBy(() -> connect("other.test", authority)).isInstanceOf(IOException.class);
    try (Socket socket = socket()) {
      socket.getOutputStream().write("GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      assertThat(socket.getInputStream().readAllBytes()).isEmpty();
    } catch (IOException _) {
      // reset: refused as well
    }
  }

  /** While another deployment reloads HAProxy, connections are opened and one stays open. */
  @Test
  void noConnectionIsLostByReplicasNorByAReload() throws Exception {
    var ended = new AtomicBoolean();
    var opened = new AtomicInteger();
    long worker = node.worker();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor();
        SSLSocket kept = connect("db.test", authority)) {
      String first = line(kept, "before");
      Future<?> load =
          pool.submit(
              () -> {
                while (!ended.get()) {
                  try (SSLSocket socket = connect("db.test", authority)) {
                    assertThat(line(socket, "x")).endsWith(" x");
                    opened.incrementAndGet();
                  }
                }
                return null;
              });
      try {
        node.scale("data", "db", 2);
        await("both serve", () -> !serving().equals(first.split(" ", 2)[0]));
        assertThat(node.worker()).isEqualTo(worker);
        node.up(
            "more",
            """
            db:
            %s
              endpoints: [{name: db, protocol: tcp, port: 9000, host: more.test, tls: self_signed}]
            """
                .formatted(lines().indent(2)));
        await(
            "reloaded and served",
            () -> {
              try (SSLSocket socket = connect("more.test", authority)) {
                return line(socket, "more").endsWith(" more");
              }
            });
        int before = opened.get();
        await("further connections", () -> opened.get() > before + 5);
      } finally {
        ended.set(true);
      }
      load.get(60, TimeUnit.SECONDS);
      assertThat(line(kept, "after")).isEqualTo(first.replace("before", "after"));
    } finally {
      node.down("more");
      node.scale("data", "db", 1);
      await("one again", () -> node.service("data", "db").at("replicas").items().size() == 1);
    }
  }

  private static String serving() throws Exception {
    try (SSLSocket socket = connect("db.test", authority)) {
      return line(socket, "x").split(" ", 2)[0];
    }
  }

  @Test
  void anotherDeploymentCannotHaveTheName() throws Exception {
    node.up(
        "rival",
        """
        web:
        %s
          endpoints: [{name: http, protocol: https, port: 8080, host: db.test, tls: self_signed}]
        """
            .formatted(echo("rival").indent(2)));
    try {
      await(
          "refused",
          () ->
              node.rest()
                  .get("/deployments/rival/services/web")
                  .text()
                  .contains(
                      "connections with TLS for db.test already go to endpoint 'db' of data/db"));
    } finally {
      node.down("rival");
    }
  }

  @Test
  void connectionsAreLoggedCountedPausedAndRefused() throws Exception {
    try (SSLSocket socket = connect("own.test", SelfSigned.certificate(directory))) {
      assertThat(line(socket, "hello")).isEqualTo("olleh");
    }
    await(
        "logged",
        () ->
            node.rest()
                .get("/ingress/services/data/own/logs")
                .expect(200)
                .text()
                .contains("\"host\":\"own.test\",\"protocol\":\"TLS\""));
    Json shown = node.rest().get("/ingress/services/data/own").expect(200).json();
    assertThat(shown.at("endpoints").items().getFirst().at("traffic").at("requests").integer())
        .hasValueSatisfying(count -> assertThat(count).isPositive());

    mode("maintenance");
    try {
      assertThatThrownBy(() -> connect("own.test", SelfSigned.certificate(directory)))
          .isInstanceOf(IOException.class);
      mode("paused");
      try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
        Future<String> waiting =
            pool.submit(
                () -> {
                  try (SSLSocket socket = connect("own.test", SelfSigned.certificate(directory))) {
                    return line(socket, "held");
                  }
                });
        await("it waits", () -> waiting() == 1);
        mode("serving");
        assertThat(waiting.get(30, TimeUnit.SECONDS)).isEqualTo("dleh");
      }
    } finally {
      mode("serving");
    }
  }

  private static long waiting() throws InterruptedException {
    Json shown = node.rest().get("/ingress/services/data/own").expect(200).json();
    return shown
        .at("endpoints")
        .items()
        .getFirst()
        .at("traffic")
        .at("open")
        .integer()
        .orElseThrow();
  }

  private static void mode(String state) throws InterruptedException {
    node.rest()
        .put(
            "/ingress/services/data/own/mode",
            "{\"state\": \"%s\"}".formatted(state).getBytes(StandardCharsets.UTF_8))
        .expect(204);
  }

  private static Socket socket() throws IOException {
    var socket = new Socket();
    socket.setSoTimeout(25_000);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), node.https), 5_000);
    return socket;
  }

  /** After the handshake, in which the certificate is verified. */
  private static SSLSocket connect(String host, Path trusted) throws Exception {
    var context = new TlsFiles(Optional.of(trusted), Optional.empty()).context();
    var socket =
        (SSLSocket) context.getSocketFactory().createSocket(socket(), host, node.https, true);
    try {
      var parameters = socket.getSSLParameters();
      parameters.setServerNames(List.of(new SNIHostName(host)));
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.startHandshake();
    } catch (IOException e) {
      socket.close();
      throw e;
    }
    return socket;
  }

  private static String line(SSLSocket socket, String text) throws IOException {
    socket.getOutputStream().write((text + "\n").getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().flush();
    var answer = new StringBuilder();
    for (int next = socket.getInputStream().read();
        next != '\n';
        next = socket.getInputStream().read()) {
      if (next < 0) {
        throw new IOException("the connection ended after: " + answer);
      }
      answer.append((char) next);
    }
    return answer.toString();
  }
}

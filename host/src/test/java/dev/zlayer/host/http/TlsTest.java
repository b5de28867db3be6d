package dev.zlayer.host.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Both ends show a certificate, as Docker's remote API asks. */
@Timeout(60)
class TlsTest {
  private static final String PASSWORD = "secret";

  @TempDir static Path directory;
  private static TlsFiles.Own own;
  private SSLServerSocket server;
  private Thread thread;

  @BeforeAll
  static void makeCertificate() throws Exception {
    own = selfSigned();
  }

  @BeforeEach
  void startServer() throws Exception {
    var files = new TlsFiles(Optional.of(own.certificate()), Optional.of(own));
    server =
        (SSLServerSocket)
            files
                .context()
                .getServerSocketFactory()
                .createServerSocket(0, 5, InetAddress.getLoopbackAddress());
    server.setNeedClientAuth(true);
    thread = Thread.ofVirtual().start(this::serve);
  }

  @AfterEach
  void stopServer() throws Exception {
    server.close();
    thread.join();
  }

  @Test
  void trustedPeersTalk() throws Exception {
    var files = new TlsFiles(Optional.of(own.certificate()), Optional.of(own));
    assertThat(ask(files, "localhost")).isEqualTo("hello");
  }

  @Test
  void aCertificateForAnotherHostIsRefused() {
    var files = new TlsFiles(Optional.of(own.certificate()), Optional.of(own));
    assertThatThrownBy(() -> ask(files, "127.0.0.1")).isInstanceOf(AgentException.Network.class);
  }

  @Test
  void anUnknownServerIsRefused() {
    var files = new TlsFiles(Optional.empty(), Optional.of(own));
    assertThatThrownBy(() -> ask(files, "localhost")).isInstanceOf(AgentException.Network.class);
  }

  @Test
  void aServerThatWantsACertificateRefusesAClientWithoutOne() {
    var files = new TlsFiles(Optional.of(own.certificate()), Optional.empty());
    assertThatThrownBy(() -> ask(files, "localhost")).isInstanceOf(AgentException.Network.class);
  }

  @Test
  void aFileWithoutAKeyIsNamed() {
    var files =
        new TlsFiles(
            Optional.empty(), Optional.of(new TlsFiles.Own(own.certificate(), own.certificate())));
    assertThatThrownBy(files::context)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(own.certificate().toString());
  }

  private String ask(TlsFiles files, String host) throws InterruptedException {
    var address = new HttpAddress.Tls(host, server.getLocalPort(), files.context());
    try (var client = HttpClient.open(address)) {
      return client.send(HttpRequest.get("/"), Deadline.after(Duration.ofSeconds(20))).text(100);
    }
  }

  private void serve() {
    while (!server.isClosed()) {
      try (var socket = server.accept()) {
        socket.getInputStream().read(new byte[1024]);
        socket
            .getOutputStream()
            .write(
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                    .getBytes(StandardCharsets.US_ASCII));
      } catch (IOException _) {
        // refused, or the test is over
      }
    }
  }

  private static TlsFiles.Own selfSigned() throws Exception {
    Path store = directory.resolve("store.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "own",
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost",
                "-validity",
                "3650",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    assertThat(new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
        .doesNotContain("error");
    assertThat(keytool.waitFor()).isZero();
    var keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    return new TlsFiles.Own(
        pem("cert.pem", "CERTIFICATE", keys.getCertificate("own").getEncoded()),
        pem("key.pem", "PRIVATE KEY", keys.getKey("own", PASSWORD.toCharArray()).getEncoded()));
  }

  private static Path pem(String name, String kind, byte[] content) throws IOException {
    String text = Base64.getMimeEncoder().encodeToString(content);
    return Files.writeString(
        directory.resolve(name),
        "-----BEGIN %s-----%n%s%n-----END %s-----%n".formatted(kind, text, kind));
  }
}

package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.microsoft.playwright.assertions.PlaywrightAssertions;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.acme.Pebble;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A certificate of a real ACME server, seen and revoked in the browser. */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.PEBBLE,
  Fact.CHROMIUM
})
class DashboardCertificateIT {
  @TempDir Path directory;

  @Test
  void aCertificateIsSeenAndRevoked() throws Exception {
    PlaywrightAssertions.setDefaultAssertionTimeout(30_000);
    int http = DashboardFixture.freePort();
    int https = DashboardFixture.freePort();
    try (Pebble pebble = Pebble.start(directory.resolve("pebble"), Pebble.Options.of(http));
        DaemonFixture daemon =
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
                .withBusybox("bb:1");
        var browser = new BrowserFixture()) {
      Path file = directory.resolve("shop.yml");
      Files.writeString(
          file,
          """
          version: v1
          deployment: shop
          services:
            web:
              image: {name: "bb:1"}
              command: [httpd, -f, -p, "8080"]
              endpoints: [{name: web, protocol: https, port: 8080, host: shop.test, tls: acme}]
          """);
      daemon.ok("up", "-f", file.toString(), "--wait", "30s");
      Path root = Files.writeString(directory.resolve("root.pem"), pebble.root());
      await().ignoreExceptions().until(() -> serial(root, https) != null);
      String first = serial(root, https);
      try (var dashboard = new DashboardPage(browser.open(daemon.ok("dashboard").strip()))) {
        dashboard.view("ingress");
        var certificates = dashboard.page().getByLabel("Certificates");
        assertThat(certificates).containsText("shop.test");
        assertThat(certificates).containsText("acme");

        dashboard.act("Revoke shop.test", "zlayer ingress revoke shop.test");

        assertThat(pebble.revoked(first)).isTrue();
      }
    }
  }

  /** Of what is served, in hexadecimal. */
  private static String serial(Path root, int port) throws IOException {
    SSLContext trust = new TlsFiles(Optional.of(root), Optional.empty()).context();
    try (var plain = new Socket()) {
      plain.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      plain.setSoTimeout(5_000);
      try (var socket =
          (SSLSocket) trust.getSocketFactory().createSocket(plain, "shop.test", port, true)) {
        var parameters = socket.getSSLParameters();
        parameters.setServerNames(List.of(new SNIHostName("shop.test")));
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        var certificate = (X509Certificate) socket.getSession().getPeerCertificates()[0];
        return certificate.getSerialNumber().toString(16);
      }
    }
  }
}

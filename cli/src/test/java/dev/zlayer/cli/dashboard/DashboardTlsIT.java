package dev.zlayer.cli.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The dashboard for other machines. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.OPENSSL})
class DashboardTlsIT {
  @TempDir Path directory;

  @Test
  void otherMachinesUseTlsAndTheirCookieNeverGoesWithoutIt() throws Exception {
    int port = freePort();
    Path key = directory.resolve("key.pem");
    Path certificate = directory.resolve("certificate.pem");
    CommandResult _ =
        Processes.check(
            Command.of(
                List.of(
                    ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
                            + " -days 2 -subj /CN=agent.example -addext"
                            + " subjectAltName=DNS:agent.example,IP:127.0.0.1 -keyout "
                            + key
                            + " -out "
                            + certificate)
                        .split(" "))),
            Deadline.after(Duration.ofSeconds(60)));
    Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(
        directory.resolve("etc/zlayer.yml"),
        """
        dashboard_listen: 0.0.0.0:%d
        hosts: [agent.example]
        tls_certificate: %s
        tls_key: %s
        """
            .formatted(port, certificate, key));
    try (var daemon = DaemonFixture.start(directory)) {
      String link = daemon.ok("dashboard").strip();
      assertThat(link).startsWith("https://agent.example:" + port + "/#token=");
      SSLContext trust = new TlsFiles(Optional.of(certificate), Optional.empty()).context();
      var http = new RawHttp(port, trust.getSocketFactory());
      Map<String, String> headers =
          Map.of("Host", "agent.example:" + port, "Origin", "https://agent.example:" + port);

      RawHttp.Answer answer =
          http.send(
              "POST",
              "/session",
              headers,
              "{\"token\":\"" + link.substring(link.indexOf('=') + 1) + "\"}");

      assertThat(answer.status()).as(answer.body()).isEqualTo(200);
      assertThat(answer.header("set-cookie")).contains("; Secure", "HttpOnly", "SameSite=Strict");
      RawHttp.Answer plainOrigin =
          http.send(
              "POST",
              "/session",
              Map.of("Host", "agent.example:" + port, "Origin", "http://agent.example:" + port),
              "{\"token\":\"x\"}");
      assertThat(plainOrigin.status()).isEqualTo(403);
    }
  }

  private static int freePort() throws IOException {
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return free.getLocalPort();
    }
  }
}

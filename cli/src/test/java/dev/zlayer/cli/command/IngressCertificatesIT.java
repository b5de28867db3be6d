package dev.zlayer.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
})
class IngressCertificatesIT {
  @TempDir private Path directory;

  @Test
  void theLocalAuthorityIsMadeOnceAndItsKeyStaysInside() throws Exception {
    try (var daemon = DaemonFixture.start(directory)) {
      String printed = daemon.ok("ingress", "ca");

      var read =
          (X509Certificate)
              CertificateFactory.getInstance("X.509")
                  .generateCertificate(
                      new ByteArrayInputStream(printed.getBytes(StandardCharsets.US_ASCII)));
      read.verify(read.getPublicKey());
      assertThat(read.getBasicConstraints()).as("signs hosts, no authorities").isZero();
      assertThat(printed).doesNotContain("PRIVATE");
      assertThat(daemon.ok("ingress", "certs").lines().findFirst().orElseThrow())
          .startsWith("HOST")
          .contains("EXPIRES", "RENEWAL", "ERROR");
      assertThat(daemon.ok("ingress", "certs", "--json").strip()).isEqualTo("[]");

      daemon.ok("daemon", "stop");
      try (var files = Files.walk(directory.resolve("data"))) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          assertThat(Files.readString(file, StandardCharsets.ISO_8859_1))
              .as("%s", file)
              .doesNotContain("PRIVATE KEY");
        }
      }
      daemon.restart();
      assertThat(daemon.ok("ingress", "ca")).isEqualTo(printed);
    }
  }
}

package dev.zlayer.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.JsonText;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class CertificateChecksTest {
  private static final Instant NOW = Instant.parse("2030-01-01T00:00:00Z");

  @Test
  void certificatesThatEndSoonOrDoNotExistAreNamed() {
    List<Finding> findings =
        run(
            """
            [{"host": "none.test", "error": "secret 'x' was never set"},
             {"host": "old.test", "not_after": "2029-12-31T00:00:00Z"},
             {"host": "bought.test", "not_after": "2030-01-10T00:00:00Z"},
             {"host": "failing.test", "not_after": "2030-01-10T00:00:00Z",
              "renewal": "2030-01-02T00:00:00Z", "error": "cannot be reached"},
             {"host": "short.test", "not_after": "2030-01-06T00:00:00Z",
              "renewal": "2030-01-04T00:00:00Z"},
             {"host": "good.test", "not_after": "2030-03-01T00:00:00Z"}]
            """);

    assertThat(findings.toString())
        .contains("none.test has none: secret 'x' was never set")
        .contains("that of old.test expired at 2029-12-31T00:00:00Z")
        .contains("that of bought.test expires at 2030-01-10T00:00:00Z")
        .contains("that of failing.test expires at 2030-01-10T00:00:00Z: cannot be reached")
        .doesNotContain("short.test", "good.test");
    assertThat(findings).hasSize(4);
  }

  @Test
  void nothingIsSaidWithoutHosts() {
    assertThat(run("[]")).isEmpty();
    assertThat(run("[{\"host\": \"good.test\", \"not_after\": \"2030-03-01T00:00:00Z\"}]"))
        .hasSize(1);
  }

  @Test
  void theCertificateOfANodeIsRenewedByItself() {
    assertThat(node("2030-06-01T00:00:00Z", "").toString())
        .contains("ok", "valid until 2030-06-01T00:00:00Z, renewed at 2030-02-01T00:00:00Z");
    assertThat(node("2030-06-01T00:00:00Z", ", \"problem\": \"no node can sign\"").toString())
        .contains("warning", "expires at 2030-06-01T00:00:00Z: no node can sign");
    assertThat(node("2029-12-31T00:00:00Z", "").toString())
        .contains("failed", "expired at 2029-12-31T00:00:00Z");
  }

  private static Finding node(String end, String more) {
    return CertificateChecks.node(
        JsonText.parse(
            "{\"not_after\": \"%s\", \"renewal\": \"2030-02-01T00:00:00Z\"%s}"
                .formatted(end, more)),
        NOW);
  }

  private static List<Finding> run(String certificates) {
    return CertificateChecks.run(
        JsonText.parse(certificates.getBytes(StandardCharsets.UTF_8)), NOW);
  }
}

package dev.zlayer.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NameChecksTest {
  @TempDir Path directory;

  /** Addresses for documentation: without a route there is no network, with one no answer. */
  @Test
  void aServerThatCannotBeReachedIsAFinding() throws Exception {
    Path resolver = Files.writeString(directory.resolve("resolv.conf"), "nameserver 2001:db8::1\n");

    Finding finding = NameChecks.run(resolver);

    assertThat(finding.status()).isEqualTo(Finding.Status.WARNING);
    assertThat(finding.detail()).contains("no name server answers: 2001:db8::1");
  }
}

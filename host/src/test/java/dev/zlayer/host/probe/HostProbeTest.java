package dev.zlayer.host.probe;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostProbeTest {
  @TempDir Path directory;

  @Test
  void tellsWhatIsThereWithItsVersionAndHowToGetTheRest() throws Exception {
    program("runc", "echo runc version 1.1.5+ds1");
    program("conmon", "exit 3");
    HostFacts facts = new HostProbe("/nonexistent:" + directory, List.of(directory)).probe();

    assertThat(facts.part("runc").orElseThrow().version()).contains("1.1.5+ds1");
    assertThat(facts.part("conmon").orElseThrow().version()).isEmpty();
    assertThat(facts.has("conmon")).isTrue();
    assertThat(facts.has("crun")).isFalse();
    assertThat(facts.part("nft").orElseThrow().advice()).isEqualTo("apt install nftables");
    assertThat(facts.obstacles())
        .anyMatch(text -> text.contains("bridge") && text.contains("containernetworking-plugins"))
        .noneMatch(text -> text.contains("oci runtime"));
  }

  /** A daemon that starts has no time for that. */
  @Test
  void looksForFilesWithoutStartingAnyProgram() throws Exception {
    Path started = directory.resolve("started");
    program("runc", "echo runc version 1.1.5; : >" + started);
    var probe = new HostProbe(directory.toString(), List.of(directory));
    HostFacts facts = probe.probeFiles();
    assertThat(facts.has("runc")).isTrue();
    assertThat(facts.has("conmon")).isFalse();
    assertThat(facts.part("runc").orElseThrow().version()).isEmpty();
    assertThat(started).doesNotExist();
    assertThat(facts.obstacles()).isEqualTo(probe.probe().obstacles());
    assertThat(started).exists();
  }

  @Test
  void aHostWithNothingSaysSo() throws Exception {
    HostFacts facts = new HostProbe("", List.of()).probe();
    assertThat(facts.parts()).isNotEmpty().noneMatch(HostPart::present);
    assertThat(facts.obstacles()).anyMatch(text -> text.contains("apt install runc"));
    assertThat(facts.cpus()).isPositive();
    assertThat(facts.platform().os()).isEqualTo("linux");
  }

  @Test
  void findsTheVersionInWhatAProgramPrints() {
    assertThat(HostProbe.version("nftables v1.0.6 (Lester Gooch #5)")).contains("1.0.6");
    assertThat(HostProbe.version("tini version 0.1.7_catatonit")).contains("0.1.7");
    assertThat(HostProbe.version("no idea")).isEqualTo(Optional.empty());
  }

  private void program(String name, String script) throws IOException {
    Path file = Files.writeString(directory.resolve(name), "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}

package dev.zlayer.runtime.oci.tool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which programs are chosen on hosts that lack some, or have broken ones. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON})
class OciToolsIT {
  private static final List<Path> REAL = List.of(Path.of("/usr/sbin"), Path.of("/usr/bin"));

  @TempDir Path programs;
  @TempDir Path cacheDirectory;
  private Path cache;

  @BeforeEach
  void prepare() {
    cache = cacheDirectory.resolve("tools.json");
  }

  @Test
  void aBrokenFasterRuntimeIsPassedOverAndExplained() throws Exception {
    brokenCrun();
    link("runc");
    link("conmon");
    OciTools tools = find(OciTools.Choice.AUTOMATIC);
    assertThat(tools.runtime().name()).isEqualTo("runc");
    assertThat(tools.dialect()).contains(Dialect.RUNC);
    assertThat(tools.tried()).extracting(OciTool::name).containsExactly("crun", "runc");
    assertThat(tools.tried().getFirst().problem().orElseThrow())
        .isEqualTo("crun run exited with 1: these groups are not mine");
    assertThat(tools.runtime().version()).startsWith("runc version");
  }

  @Test
  void aProgramIsTriedOncePerChange() throws Exception {
    Path crun = brokenCrun();
    Path tries = programs.resolve("tries");
    link("runc");
    link("conmon");
    find(OciTools.Choice.AUTOMATIC);
    find(OciTools.Choice.AUTOMATIC);
    assertThat(Files.readAllLines(tries)).hasSize(1);
    Files.setLastModifiedTime(crun, FileTime.from(Instant.EPOCH));
    find(OciTools.Choice.AUTOMATIC);
    assertThat(Files.readAllLines(tries)).hasSize(2);
  }

  @Test
  void whenNoneWorksAllReasonsAreTold() throws Exception {
    brokenCrun();
    link("conmon");
    assertThatThrownBy(() -> find(OciTools.Choice.AUTOMATIC))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("no OCI runtime works on this host: crun: crun run exited with 1");
  }

  @Test
  void missingPartsAreNamedByTheirPackages() throws Exception {
    link("runc");
    assertThatThrownBy(() -> find(OciTools.Choice.AUTOMATIC))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("install the package conmon");
    Files.delete(programs.resolve("runc"));
    link("conmon");
    assertThatThrownBy(() -> find(OciTools.Choice.AUTOMATIC))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("install the package runc or crun");
  }

  @Test
  void aPrescribedRuntimeIsTheOnlyOneAndIsLeftToItsOwnVerbs() throws Exception {
    brokenCrun();
    link("runc");
    link("conmon");
    OciTools tools = find(new OciTools.Choice(Optional.of("runc"), Optional.empty()));
    assertThat(tools.tried()).extracting(OciTool::name).containsExactly("runc");
    assertThat(tools.dialect()).isEmpty();
    assertThatThrownBy(() -> find(new OciTools.Choice(Optional.of("youki"), Optional.empty())))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("the OCI runtime 'youki' is not installed");
  }

  @Test
  void withoutRootNothingIsTried() {
    var host = new OciTools.Host(false, List.of(programs));
    assertThatThrownBy(() -> OciTools.find(OciTools.Choice.AUTOMATIC, cache, host))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("containers need root");
    assertThat(cache).doesNotExist();
  }

  private OciTools find(OciTools.Choice choice) throws InterruptedException {
    return OciTools.find(choice, cache, new OciTools.Host(true, List.of(programs)));
  }

  private Path brokenCrun() throws IOException {
    Path crun = programs.resolve("crun");
    Files.writeString(
        crun,
        """
        #!/bin/sh
        case "$*" in
          --version) echo crun version 9.9; exit 0;;
          features) exit 1;;
        esac
        echo tried >> %s
        echo these groups are not mine >&2
        exit 1
        """
            .formatted(programs.resolve("tries")));
    return Files.setPosixFilePermissions(crun, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private void link(String name) throws IOException {
    for (Path directory : REAL) {
      if (Files.exists(directory.resolve(name))) {
        Files.createSymbolicLink(programs.resolve(name), directory.resolve(name));
        return;
      }
    }
    throw new IOException(name + " is nowhere");
  }
}

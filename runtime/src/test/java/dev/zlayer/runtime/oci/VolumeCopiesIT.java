package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.VolumeSyncing;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What containers write to named volumes gets to where the operator's program brings it. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
class VolumeCopiesIT {
  @TempDir Path copies;
  private RuntimeFixture fixture;

  @BeforeEach
  void open(@TempDir Path directory) throws Exception {
    Path program = copies.resolve("copy");
    Files.writeString(
        program,
        """
        #!/bin/sh
        [ "$1" != bad ] || { echo "the shelf is full" >&2; exit 4; }
        cp -a "$2" "%s/$1"
        """
            .formatted(copies));
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    fixture =
        RuntimeFixture.open(directory, OciSettings.DEFAULT.withVolumeSync(program), Faults.NONE);
  }

  @AfterEach
  void close() throws Exception {
    fixture.tearDown();
  }

  @Test
  void whatWasWrittenIsInTheCopy() throws Exception {
    Container container = ended("good");
    ((VolumeSyncing) container).syncVolumes();
    assertThat(copies.resolve("good/note")).hasContent("kept");
  }

  @Test
  void aFailedCopyIsNamed() throws Exception {
    Container container = ended("bad");
    assertThatThrownBy(() -> ((VolumeSyncing) container).syncVolumes())
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("volume bad was not copied")
        .hasMessageContaining("exited with 4: the shelf is full");
  }

  @Test
  void onlyWritableNamedVolumesAreCopied() throws Exception {
    ended("one");
    Container reader =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("cat /data/note")
                .withFileSystem(FileSystemSpec.of(new Mount.Named("one", "/data", true))));
    ((VolumeSyncing) reader).syncVolumes();
    assertThat(copies.resolve("one")).doesNotExist();
  }

  private Container ended(String volume) throws Exception {
    Container container =
        fixture.runtime.create(
            RuntimeFixture.id(),
            RuntimeFixture.script("echo kept > /data/note")
                .withFileSystem(FileSystemSpec.of(new Mount.Named(volume, "/data", false))));
    container.start();
    Runs.end(container);
    return container;
  }
}

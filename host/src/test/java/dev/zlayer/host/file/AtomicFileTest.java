package dev.zlayer.host.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AtomicFileTest {
  @TempDir Path directory;

  @Test
  void replacesAndLeavesNothingElse() throws Exception {
    Path file = directory.resolve("state.json");
    AtomicFile.write(file, "one".getBytes(StandardCharsets.UTF_8));
    AtomicFile.write(file, "two".getBytes(StandardCharsets.UTF_8));

    assertThat(file).hasContent("two");
    assertThat(directory).isDirectoryNotContaining("glob:**.tmp");
  }

  @Test
  void aFailedReplacementKeepsTheOldFileAndLeavesNothingElse() throws Exception {
    Path occupied = Files.createDirectories(directory.resolve("occupied").resolve("child"));

    assertThatThrownBy(() -> AtomicFile.write(occupied.getParent(), new byte[] {1}))
        .isInstanceOf(IOException.class);
    assertThat(occupied).exists();
    assertThat(directory).isDirectoryNotContaining("glob:**.tmp");
  }
}

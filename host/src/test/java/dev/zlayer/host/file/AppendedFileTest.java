package dev.zlayer.host.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AppendedFileTest {
  @TempDir Path directory;
  private Path file;

  @BeforeEach
  void begin() throws IOException {
    file = Files.writeString(directory.resolve("lines"), "one\n");
  }

  @Test
  void addsToTheEnd() throws Exception {
    AppendedFile.append(file, 4, bytes("two\n"));
    AppendedFile.appendDurably(file, 8, bytes("three\n"));

    assertThat(file).hasContent("one\ntwo\nthree\n");
  }

  @Test
  void whatAFailedCallLeftGoes() throws Exception {
    AppendedFile.append(file, 4, bytes("a torn li"));
    AppendedFile.append(file, 4, bytes("two\n"));

    assertThat(file).hasContent("one\ntwo\n");
  }

  @Test
  void anInterruptDoesNotDisturbIt() throws Exception {
    Thread.currentThread().interrupt();
    AppendedFile.appendDurably(file, 4, bytes("two\n"));

    assertThat(Thread.interrupted()).isTrue();
    assertThat(file).hasContent("one\ntwo\n");
  }

  @Test
  void makesNoFileAndFillsNoGap() {
    Path missing = directory.resolve("missing");

    assertThatThrownBy(() -> AppendedFile.append(missing, 0, bytes("x")))
        .isInstanceOf(NoSuchFileException.class);
    assertThat(missing).doesNotExist();
    assertThatThrownBy(() -> AppendedFile.append(file, 5, bytes("x")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cut to 4 of 5 bytes");
    assertThat(file).hasContent("one\n");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}

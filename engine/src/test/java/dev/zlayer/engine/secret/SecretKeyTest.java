package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SecretKeyTest {
  @TempDir Path directory;

  @Test
  void theFirstUseMakesAKeyForItsOwnerAlone() throws IOException {
    Path file = directory.resolve("new/secret.key");

    byte[] first = SecretKey.open(file).derive("x");

    assertThat(SecretKey.open(file).derive("x")).isEqualTo(first);
    assertThat(SecretKey.open(directory.resolve("other")).derive("x")).isNotEqualTo(first);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  @Test
  void aKeyThatOthersCanReadIsRefused() throws IOException {
    Path file = directory.resolve("secret.key");
    SecretKey.open(file);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));

    assertThatThrownBy(() -> SecretKey.open(file))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(file.toString())
        .hasMessageContaining("0600");
  }

  @Test
  void aFileThatHoldsNoKeyIsRefusedWithoutShowingIt() throws IOException {
    Path file = directory.resolve("secret.key");
    Files.writeString(file, "short");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));

    assertThatThrownBy(() -> SecretKey.open(file))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("64 hexadecimal digits")
        .hasMessageNotContaining("short");
  }
}

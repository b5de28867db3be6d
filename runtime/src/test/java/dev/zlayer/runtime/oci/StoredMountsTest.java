package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.testkit.FrozenFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The list of mounts of a container with users of its own. */
class StoredMountsTest {
  private static final List<UserMounts.Entry> ENTRIES =
      List.of(
          new UserMounts.Entry("shm", Path.of("/run/shm"), false),
          new UserMounts.Entry("1", Path.of("/srv/data"), true));

  @TempDir Path directory;

  @Test
  void itIsStoredAsItWas() {
    FrozenFormat.check("mounts-v2.json", UserMounts.json(ENTRIES));
  }

  @ParameterizedTest
  @ValueSource(strings = {"mounts-v1.json", "mounts-v2.json"})
  void everyVersionIsRead(String example) throws Exception {
    Path file = Files.write(directory.resolve("mounts.json"), FrozenFormat.read(example));
    assertThat(UserMounts.read(file)).isEqualTo(ENTRIES);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\0{{", "7", "[{}]", "{\"version\":2,\"mounts\":[{\"name\":\"1\"}]}"})
  void damageIsNamedWithItsFileAndRemedy(String content) throws Exception {
    Path file = Files.writeString(directory.resolve("mounts.json"), content);
    assertThatThrownBy(() -> UserMounts.read(file))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(file + " is damaged: ")
        .hasMessageContaining("remove the container and create it again");
  }

  @Test
  void aLaterVersionIsRefusedByName() throws Exception {
    Path file = Files.writeString(directory.resolve("mounts.json"), "{\"version\":9}");
    assertThatThrownBy(() -> UserMounts.read(file))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(file + " has version 9");
  }
}

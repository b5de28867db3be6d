package dev.zlayer.daemon.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigReaderTest {
  @TempDir private Path directory;

  @Test
  void flagsWinOverVariablesOverTheFileOverDefaults() throws Exception {
    Path file = directory.resolve("zlayer.yml");
    Files.writeString(
        file,
        """
        # a comment
        data_dir: /srv/file
        job_queue: 7
        log_level: debug
        hosts: [one, two]
        """);

    Configured configured =
        ConfigReader.read(
            Optional.of(file),
            Map.of("ZLAYER_DATA_DIR", "/srv/env", "ZLAYER_JOB_QUEUE", "8", "PATH", "/bin"),
            Map.of("data_dir", "/srv/flag"));

    assertThat(configured.config().dataDir()).isEqualTo("/srv/flag");
    assertThat(configured.config().jobQueue()).isEqualTo(8);
    assertThat(configured.config().logLevel()).isEqualTo(Log.Level.DEBUG);
    assertThat(configured.config().hosts()).containsExactly("one", "two");
    assertThat(configured.config().jobConcurrency()).isEqualTo(64);
    assertThat(configured.values().get("data_dir").source()).isEqualTo("flag --data-dir");
    assertThat(configured.values().get("job_queue").source())
        .isEqualTo("variable ZLAYER_JOB_QUEUE");
    assertThat(configured.values().get("log_level").source()).isEqualTo(file + ":4");
    assertThat(configured.values().get("events").source()).isEqualTo("default");
    assertThat(configured.config().socketPath()).isEqualTo(Path.of("/srv/flag/run/zlayer.sock"));
  }

  @Test
  void everythingThatIsWrongIsToldAtOnce() throws Exception {
    Path file = directory.resolve("zlayer.yml");
    Files.writeString(file, "dat_dir: /srv\njob_queue: many\n");

    assertThatThrownBy(
            () ->
                ConfigReader.read(
                    Optional.of(file),
                    Map.of("ZLAYER_LOG_LEVEL", "loud"),
                    Map.of("events", "3", "nonsense", "1")))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("did you mean 'data_dir'")
        .hasMessageContaining("job_queue")
        .hasMessageContaining("ZLAYER_LOG_LEVEL")
        .hasMessageContaining("--events")
        .hasMessageContaining("--nonsense");
  }

  @Test
  void anEmptyFileIsFine() throws Exception {
    Path file = directory.resolve("zlayer.yml");
    Files.writeString(file, "# nothing set\n\n");

    assertThat(ConfigReader.read(Optional.of(file), Map.of(), Map.of()).config().dataDir())
        .isEqualTo("/var/lib/zlayer");
  }

  @Test
  void aFileThatIsNotThereIsAnError() {
    Path absent = directory.resolve("absent.yml");
    assertThatThrownBy(() -> ConfigReader.read(Optional.of(absent), Map.of(), Map.of()))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("absent.yml");
  }

  @Test
  void theTableForPeopleIsUpToDate() throws Exception {
    assertThat(Files.readString(Path.of("../docs/operations.md")))
        .as("put this into docs/operations.md:\n" + ConfigReference.markdown())
        .contains(ConfigReference.markdown());
  }
}

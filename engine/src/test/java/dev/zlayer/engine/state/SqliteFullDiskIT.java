package dev.zlayer.engine.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk that is really full. */
@Requires(Fact.ROOT)
class SqliteFullDiskIT {
  private static final Deadline LIMIT = Deadline.after(Duration.ofMinutes(1));

  @TempDir Path disk;

  @BeforeEach
  void mount(@TempDir Path elsewhere) throws InterruptedException {
    // where the native library is loaded from stays busy as long as this process lives
    SqliteStateStore.open(elsewhere.resolve("first.db"), StoreConfig.DEFAULT).close();
    Processes.check(
        Command.of("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk.toString()), LIMIT);
  }

  @AfterEach
  void unmount() throws InterruptedException {
    Processes.check(Command.of("umount", disk.toString()), LIMIT);
  }

  @Test
  void refusesClearlyAndLosesNothing() throws Exception {
    Path file = disk.resolve("state.db");
    byte[] block = new byte[50_000];
    List<String> kept = new ArrayList<>();
    try (var store = SqliteStateStore.open(file, StoreConfig.DEFAULT)) {
      Files.write(disk.resolve("ballast"), new byte[1_000_000]);
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 1000; i++) {
                  String key = "%04d".formatted(i);
                  store.commit(Change.of(new Change.Put("log", key, block)));
                  kept.add(key);
                }
              })
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("no space is left for the state store " + file);
      assertThat(kept).isNotEmpty();

      Files.delete(disk.resolve("ballast"));
      store.commit(Change.of(new Change.Put("log", "later", block)));
      kept.add("later");
    }
    try (var again = SqliteStateStore.open(file, StoreConfig.DEFAULT)) {
      assertThat(again.list("log"))
          .extracting(StateStore.Entry::key)
          .containsExactlyElementsOf(kept);
    }
  }
}

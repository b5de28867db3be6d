package dev.zlayer.engine.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kills a writing process without warning, again and again. */
class SqliteKillIT {
  private static final int ROUNDS = 5;

  @TempDir Path directory;

  @Test
  void everyCommitThatReturnedSurvivesAKill() throws Exception {
    Path file = directory.resolve("state.db");
    long seed = new Random().nextLong();
    System.out.println("seed " + seed);
    var random = new Random(seed);
    long told = 0;
    for (int round = 0; round < ROUNDS; round++) {
      told = commitUntilKilled(file, told + 1, 50 + random.nextInt(400));
      try (var store = SqliteStateStore.open(file, StoreConfig.DEFAULT)) {
        var keys = store.list("job");
        // one commit may have become durable without being told
        assertThat((long) keys.size()).isBetween(told, told + 1);
        assertThat(keys.getLast().key()).isEqualTo("%012d".formatted(keys.size()));
        assertThat(store.events(0, 1_000_000).events()).hasSameSizeAs(keys);
        told = keys.size();
      }
    }
    assertThat(directory)
        .as("what the driver unpacked")
        .isDirectoryNotContaining(path -> path.getFileName().toString().startsWith("sqlite-"));
  }

  private static long commitUntilKilled(Path file, long from, int commits) throws IOException {
    ProcessHandle self = ProcessHandle.current();
    String java = self.info().command().orElseThrow();
    Process victim =
        Processes.start(
            Command.of(
                java,
                "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                StoreVictim.class.getName(),
                file.toString(),
                Long.toString(from)));
    long last = from - 1;
    try (var lines =
        new BufferedReader(
            new InputStreamReader(victim.getInputStream(), StandardCharsets.UTF_8))) {
      for (int i = 0; i < commits; i++) {
        String line = lines.readLine();
        assertThat(line).as("the victim died early").isNotNull();
        last = Long.parseLong(line);
      }
      // unlike the process itself, its handle leaves the pipe open: what was told can still be read
      victim.toHandle().destroyForcibly();
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        // a line cut off by the kill tells nothing
        last = line.length() == 12 ? Long.parseLong(line) : last;
      }
    } finally {
      victim.destroyForcibly();
      victim.onExit().join();
    }
    return last;
  }
}

package dev.zlayer.runtime.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever is in the files, reading them ends, throws nothing, and gives no byte that is not there.
 * Runs for some seconds, or for as long as {@code zlayer.test.fuzzSeconds} says.
 */
@Timeout(7200)
class LogFuzzTest {
  private static final Duration TIME =
      Duration.ofSeconds(Long.getLong("zlayer.test.fuzzSeconds", 5));
  private static final long SEED = Long.getLong("zlayer.test.seed", 1115);

  @TempDir Path directory;

  @Test
  void damagedLogsAreReadWithoutHarm() throws Exception {
    var files = new LogFiles(directory.resolve("logs"), new LogSpec(1 << 20, 3));
    Files.createDirectory(files.directory());
    Instant end = Instant.now().plus(TIME);
    try (var watch =
        DirectoryWatchLoop.open("fuzz", directory, List.of(StandardWatchEventKinds.ENTRY_MODIFY))) {
      for (long round = 0; Instant.now().isBefore(end); round++) {
        var random = new Random(SEED + round);
        byte[] log = damaged(random);
        Files.deleteIfExists(files.current());
        Files.write(files.current(), log);
        LogQuery query = query(random);
        long given = 0;
        try (var reader =
            LogFileReader.open(files, query, watch, EndSignal.ENDED, InstantSource.system())) {
          for (var piece = reader.next(); piece.isPresent(); piece = reader.next()) {
            given += piece.get().length();
            assertThat(query.wants(piece.get())).as("seed %d", SEED + round).isTrue();
          }
        }
        assertThat(given).as("seed %d", SEED + round).isLessThanOrEqualTo(log.length);
        if (random.nextInt(20) == 0) {
          files.prepare(); // what a new start makes of it can be read as well
          for (LogFiles.Generation generation : files.generations()) {
            Files.delete(generation.path());
          }
          Files.deleteIfExists(directory.resolve("logs/output.tmp"));
        }
      }
    }
  }

  private static byte[] damaged(Random random) {
    var text = new LogText();
    for (int i = random.nextInt(40); i > 0; i--) {
      String content = "x".repeat(random.nextInt(random.nextInt(10) == 0 ? 9000 : 30));
      switch (random.nextInt(4)) {
        case 0 -> text.out(i, content);
        case 1 -> text.err(i, content);
        case 2 -> text.outPiece(i, content);
        default -> text.errPiece(i, content);
      }
    }
    byte[] log = text.bytes();
    for (int i = random.nextInt(6); i > 0 && log.length > 0; i--) {
      int at = random.nextInt(log.length);
      switch (random.nextInt(4)) {
        case 0 -> log[at] = (byte) random.nextInt(256);
        case 1 -> log = Arrays.copyOf(log, at);
        case 2 -> log = Arrays.copyOfRange(log, at, log.length);
        default -> {
          int to = Math.min(log.length, at + random.nextInt(200));
          Arrays.fill(log, at, to, (byte) (random.nextBoolean() ? 0 : random.nextInt(256)));
        }
      }
    }
    return log;
  }

  private static LogQuery query(Random random) {
    LogQuery query = LogQuery.ALL;
    if (random.nextInt(3) == 0) {
      query = query.withTail(random.nextInt(50));
    }
    if (random.nextInt(3) == 0) {
      query = query.withSince(LogText.second(random.nextInt(50)));
    }
    if (random.nextInt(3) == 0) {
      query = query.withUntil(LogText.second(random.nextInt(50)));
    }
    if (random.nextInt(3) == 0) {
      query = query.only(LogRecord.Stream.values()[random.nextInt(2)]);
    }
    return random.nextBoolean() ? query.following() : query;
  }
}

package dev.zlayer.container;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LogPositionTest {
  private static LogRecord line(long second, String text) {
    return new LogRecord(
        Instant.ofEpochSecond(second), LogRecord.Stream.STDOUT, text.getBytes(), false);
  }

  @Test
  void aLogReadAgainFromWhereItWasCutGivesEveryLineOnce() {
    var random = new Random(42);
    for (int round = 0; round < 300; round++) {
      List<LogRecord> log = new ArrayList<>();
      long time = 0;
      for (int i = 0; i < 1 + random.nextInt(20); i++) {
        time += random.nextInt(2); // several lines share a time
        log.add(line(time, "line " + i));
      }
      List<String> shown = new ArrayList<>();
      var resume = new LogPosition();
      while (shown.size() < log.size()) {
        resume.again();
        Optional<Instant> since = resume.since();
        int cut = 1 + random.nextInt(log.size());
        log.stream()
            .filter(line -> since.map(from -> !line.time().isBefore(from)).orElse(true))
            .limit(cut)
            .filter(line -> resume.isNew(line.time()))
            .forEach(line -> shown.add(line.text()));
        if (cut < 5) {
          cut = log.size();
        }
      }
      assertThat(shown).as("round %d", round).isEqualTo(log.stream().map(LogRecord::text).toList());
    }
  }
}

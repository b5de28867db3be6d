package dev.zlayer.cli.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LogPositionTest {
  private static Output line(long second, String text) {
    return new Output(
        Optional.of(Instant.ofEpochSecond(second)), false, text.getBytes(), false, false);
  }

  @Test
  void aLogReadAgainFromWhereItWasCutGivesEveryLineOnce() {
    var random = new Random(42);
    for (int round = 0; round < 300; round++) {
      List<Output> log = new ArrayList<>();
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
            .filter(line -> since.map(from -> !line.time().get().isBefore(from)).orElse(true))
            .limit(cut)
            .filter(resume::isNew)
            .forEach(line -> shown.add(new String(line.bytes())));
        if (cut < 5) {
          cut = log.size();
        }
      }
      assertThat(shown)
          .as("round %d", round)
          .isEqualTo(log.stream().map(line -> new String(line.bytes())).toList());
    }
  }
}

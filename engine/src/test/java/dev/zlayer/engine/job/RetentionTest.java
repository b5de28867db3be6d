package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.job.RetentionSpec;
import dev.zlayer.spec.value.ByteSize;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RetentionTest {
  private static final Instant NOW = Instant.parse("2026-06-01T12:00:00Z");

  private static Execution finished(String id, boolean good, Duration ago, long bytes) {
    Instant end = NOW.minus(ago);
    var attempt =
        new Attempt(
            1,
            Optional.empty(),
            end,
            Optional.empty(),
            Optional.of(end),
            Optional.empty(),
            Optional.empty(),
            List.of(),
            new Attempt.Output(bytes, bytes),
            List.of(),
            List.of(),
            false);
    return new Execution(
        new ExecutionId(id),
        1,
        Jobs.key("one"),
        new Trigger.Cli(),
        Overrides.NONE,
        0,
        end,
        List.of(),
        List.of(),
        Optional.of(end),
        Optional.empty(),
        Optional.empty(),
        false,
        false,
        List.of(attempt),
        good
            ? new ExecutionStatus.Completed(0, Duration.ZERO)
            : new ExecutionStatus.Failed("x", Optional.empty()),
        Optional.of(end));
  }

  private static List<String> expired(RetentionSpec spec, Execution... executions) {
    return Retention.expired(List.of(executions), spec, NOW).stream()
        .map(execution -> execution.id().text())
        .toList();
  }

  private static RetentionSpec spec(int count, long bytes) {
    return new RetentionSpec(Duration.ofHours(1), Duration.ofHours(24), count, new ByteSize(bytes));
  }

  @Test
  void failedOnesAreKeptLonger() {
    assertThat(
            expired(
                spec(100, 1000),
                finished("a", true, Duration.ofHours(1), 1),
                finished("b", true, Duration.ofMinutes(59), 1),
                finished("c", false, Duration.ofHours(23), 1),
                finished("d", false, Duration.ofHours(24), 1)))
        .containsExactly("a", "d");
  }

  @Test
  void beyondTheCountSuccessfulAndOlderOnesGoFirst() {
    assertThat(
            expired(
                spec(2, 1000),
                finished("a", false, Duration.ofMinutes(4), 1),
                finished("b", true, Duration.ofMinutes(3), 1),
                finished("c", true, Duration.ofMinutes(2), 1),
                finished("d", true, Duration.ofMinutes(1), 1)))
        .containsExactly("b", "c");
  }

  @Test
  void theNewestGoesLast() {
    assertThat(
            expired(
                spec(2, 1000),
                finished("a", false, Duration.ofMinutes(3), 1),
                finished("b", false, Duration.ofMinutes(2), 1),
                finished("c", true, Duration.ofMinutes(1), 1)))
        .as("else people would take the failure for the state of the job")
        .containsExactly("a");
    assertThat(expired(spec(100, 5), finished("a", true, Duration.ZERO, 6)))
        .as("what is too large alone")
        .containsExactly("a");
  }

  @Test
  void beyondTheBytesAsManyGoAsAreNeeded() {
    assertThat(
            expired(
                spec(100, 25),
                finished("a", true, Duration.ofMinutes(3), 10),
                finished("b", true, Duration.ofMinutes(2), 10),
                finished("c", true, Duration.ofMinutes(1), 10)))
        .containsExactly("a");
  }
}

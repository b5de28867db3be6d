package dev.zlayer.daemon.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class OutputReadersTest {
  private static final ContainerId ONE = ContainerId.of("shop", "web", 1);
  private static final ContainerId OTHER = ContainerId.of("shop", "db", 1);

  private final OutputReaders readers = new OutputReaders();

  @Test
  void whoWaitsForThoseAttachedWaitsForTheLastOfThem() throws Exception {
    OutputHold first = readers.attach(ONE);
    OutputHold second = readers.attach(ONE);
    Thread waiting = waiting(Deadline.none());
    Awaitility.await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
    first.close();
    first.close();
    assertThat(waiting.join(Duration.ofMillis(50))).as("the second one reads").isFalse();
    second.close();
    assertThat(waiting.join(Duration.ofSeconds(20))).isTrue();
  }

  @Test
  void whoOnlyFollowsTheLogOrReadsAnotherContainerHoldsUpNobody() throws Exception {
    try (OutputHold _ = readers.hold(ONE);
        OutputHold _ = readers.attach(OTHER)) {
      readers.awaitAttached(ONE, Deadline.none());
    }
  }

  @Test
  void aReaderWhoNeverEndsIsWaitedForUntilTheDeadline() throws Exception {
    try (OutputHold _ = readers.attach(ONE)) {
      readers.awaitAttached(ONE, Deadline.after(Duration.ofMillis(20)));
    }
  }

  private Thread waiting(Deadline deadline) {
    return Thread.ofVirtual()
        .start(
            () -> {
              try {
                readers.awaitAttached(ONE, deadline);
              } catch (InterruptedException _) {
                Thread.currentThread().interrupt();
              }
            });
  }
}

package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class WatchedTest {
  @Test
  void aWaiterSeesTheValueItWaitsFor() throws Exception {
    var watched = new Watched<>(0);
    try (var scope = new TaskScope("waiter")) {
      var seen = scope.fork(() -> watched.await(value -> value > 2, Deadline.none(), "waiting"));
      for (int i = 0; i < 3; i++) {
        watched.update(value -> value + 1);
      }
      scope.join();
      assertThat(seen.result()).isEqualTo(3);
    }
  }

  @Test
  void theDeadlineEndsAWait() {
    var watched = new Watched<>("x");
    assertThatThrownBy(
            () -> watched.await(String::isEmpty, Deadline.after(Duration.ofMillis(5)), "waiting"))
        .isInstanceOf(AgentException.Timeout.class);
  }

  @Test
  void aChangeThatFailsChangesNothing() {
    var watched = new Watched<>("old");
    assertThatThrownBy(
            () ->
                watched.update(
                    _ -> {
                      throw new IllegalStateException("no");
                    }))
        .isInstanceOf(IllegalStateException.class);
    assertThat(watched.now()).isEqualTo("old");
  }

  @Test
  void listenersAreToldUntilTheyLeave() {
    var watched = new Watched<>(0);
    var told = new AtomicInteger();
    var listening = watched.onChange(told::incrementAndGet);
    watched.update(value -> value + 1);
    listening.close();
    watched.update(value -> value + 1);
    assertThat(told).hasValue(1);
  }
}

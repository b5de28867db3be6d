package dev.zlayer.daemon.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class EventMetricsTest {
  private final MemoryStateStore store = new MemoryStateStore();
  private final Metrics metrics = new Metrics();
  private final Supervisor supervisor = new Supervisor();
  private final AtomicInteger failures = new AtomicInteger();

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aStoreThatFailsForAWhileDoesNotEndTheCounting(boolean ours) throws Exception {
    failures.set(2);
    try (var _ =
        EventMetrics.open(
            failing(ours),
            _ -> Optional.empty(),
            metrics,
            TimeSource.of(InstantSource.system()),
            supervisor,
            Log.silent())) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () -> {
                happen("later");
                assertThat(metrics.text(List::of)).contains("kind=\"later\"");
              });
      assertThat(failures).hasValue(0);
      assertThat(supervisor.owners()).allMatch(Supervisor.Status::working);
    }
  }

  private void happen(String kind) {
    store.commit(Change.of(new Event(Instant.EPOCH, kind, "it", Json.object().build())));
  }

  private StateStore failing(boolean ours) {
    return (StateStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {StateStore.class},
            (_, method, arguments) -> {
              if (method.getName().equals("events") && failures.get() > 0) {
                failures.decrementAndGet();
                throw ours
                    ? new AgentException.Configuration("injected")
                    : new IllegalStateException("injected");
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}

package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.fake.FaultyRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No fault of a runtime, a store or a record leaves a job without an end. */
@Timeout(60)
class JobFaultTest extends JobFixture {
  private static final Map<String, String> ENDING = Map.of("exit", "0");

  @ParameterizedTest
  @ValueSource(strings = {"unchecked", "ours", "error"})
  void aRuntimeThatFailsForAWhileLeavesNoJobInitializing(String kind) throws InterruptedException {
    var faulty = new FaultyRuntime(runtime);
    runtime = faulty;
    open("one: {rtype: job, image: app:1}");
    faulty.fail(
        () ->
            switch (kind) {
              case "unchecked" -> new IllegalStateException("injected");
              case "ours" -> new AgentException.Network("injected");
              default -> new StackOverflowError("injected");
            });
    ExecutionId during = trigger("one");
    Awaitility.await().until(() -> faulty.thrown() > 3 || kind.equals("error"));
    faulty.recover();

    assertThat(ended(during).status()).isInstanceOf(ExecutionStatus.Failed.class);
    assertThat(ended(trigger("one", ENDING)).status())
        .isInstanceOf(ExecutionStatus.Completed.class);
  }

  @Test
  void aResultThatCannotBeSavedHoldsUpNoOtherAndEndsWithoutItsOutput() throws InterruptedException {
    openOver(change -> writes(change, Ledger.LOGS, "injected").isPresent());
    ExecutionId bad = trigger("one", Map.of("exit", "0", "log", "injected"));
    for (int i = 0; i < 20; i++) {
      assertThat(ended(trigger("one", Map.of("exit", "0", "log", "line"))).status())
          .isInstanceOf(ExecutionStatus.Completed.class);
    }
    Execution end = ended(bad);
    assertThat(end.status()).isInstanceOf(ExecutionStatus.Completed.class);
    assertThat(end.attempt().notes().toString()).contains("output and artifacts could not be");
  }

  @Test
  void anExecutionThatCannotBeRecordedAtAllHoldsUpNoOther() throws InterruptedException {
    var bad = new AtomicReference<>("none");
    openOver(change -> changes(change, Ledger.EXECUTIONS, bad.get()));
    ExecutionId stuck = trigger("one", Map.of("exit", "0", "after", "5s"));
    runs(stuck);
    bad.set(stuck.text());
    clock.advance(Duration.ofSeconds(5));
    for (int i = 0; i < 20; i++) {
      assertThat(ended(trigger("one", ENDING)).status())
          .isInstanceOf(ExecutionStatus.Completed.class);
    }
    assertThat(executor.execution(stuck).status()).isInstanceOf(ExecutionStatus.Running.class);
    bad.set("none");
    assertThat(ended(stuck).status()).isInstanceOf(ExecutionStatus.Completed.class);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aStoreThatThrowsAnythingForAWhileDelaysButLosesNothing(boolean error)
      throws InterruptedException {
    var failing = new AtomicBoolean();
    var failures = new AtomicInteger();
    openOver(
        _ -> {
          boolean fails = failing.get();
          if (fails && failures.incrementAndGet() > 0 && error) {
            throw new OutOfMemoryError("injected");
          }
          return fails;
        });
    ExecutionId running = trigger("one", Map.of("exit", "0", "after", "5s"));
    runs(running);
    failing.set(true);
    clock.advance(Duration.ofSeconds(5));
    // an owner that dies is restarted a few times only
    Awaitility.await().until(() -> failures.get() >= (error ? 1 : 3));
    failing.set(false);
    if (!error) {
      assertThat(ended(running).status()).isInstanceOf(ExecutionStatus.Completed.class);
    }
    assertThat(ended(trigger("one", ENDING)).status())
        .isInstanceOf(ExecutionStatus.Completed.class);
    assertThat(supervisor.owners()).allMatch(Supervisor.Status::working);
  }

  @Test
  void aDeadlineBeyondAllTimeEndsNothing() throws InterruptedException {
    open("one: {rtype: job, image: app:1}");
    var overrides =
        new Overrides(
            Optional.empty(),
            Jobs.behaving(ENDING).env(),
            Optional.of(Duration.ofSeconds(Long.MAX_VALUE)));
    ExecutionId id =
        executor.trigger(TriggerRequest.of(Jobs.key("one"), new Trigger.Cli()).with(overrides));
    assertThat(ended(id).status()).isInstanceOf(ExecutionStatus.Completed.class);
    assertThat(ended(trigger("one", ENDING)).status())
        .isInstanceOf(ExecutionStatus.Completed.class);
  }

  @Test
  void anExecutionThatItsOwnerDiesOfIsPutAsideAndReported() throws InterruptedException {
    var fatal = new AtomicReference<>("none");
    openOver(
        change -> {
          if (change.writes().stream()
              .anyMatch(write -> write instanceof Change.Put && write.key().equals(fatal.get()))) {
            throw new StackOverflowError("injected");
          }
          return false;
        });
    var limited =
        new Overrides(
            Optional.empty(),
            Jobs.behaving(Map.of("endless", "true")).env(),
            Optional.of(Duration.ofSeconds(5)));
    ExecutionId bad =
        executor.trigger(TriggerRequest.of(Jobs.key("one"), new Trigger.Cli()).with(limited));
    runs(bad);
    fatal.set(bad.text());
    clock.advance(Duration.ofSeconds(6));

    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> store.find(Quarantine.FATAL, "job.execution/" + bad).isPresent());
    assertThat(store.find(Ledger.EXECUTIONS, bad.text())).isEmpty();
    assertThat(store.events(0, 50).events())
        .extracting(numbered -> numbered.event().kind() + " " + numbered.event().subject())
        .contains("record.quarantined job.execution/" + bad);
    assertThat(ended(trigger("one", ENDING)).status())
        .isInstanceOf(ExecutionStatus.Completed.class);
    assertThat(supervisor.failure()).isEmpty();
    assertThat(executor.find(bad)).isEmpty();
  }

  @Test
  void aRecordThatCannotBeReadIsPutAsideAndReported() throws InterruptedException {
    store.commit(
        Change.of(
            new Change.Put(
                Ledger.EXECUTIONS, "damaged", "no record".getBytes(StandardCharsets.UTF_8))));
    open("one: {rtype: job, image: app:1}");
    assertThat(ended(trigger("one", ENDING)).status())
        .isInstanceOf(ExecutionStatus.Completed.class);
    assertThat(store.find(Ledger.EXECUTIONS, "damaged")).isEmpty();
    assertThat(store.find(Quarantine.KIND, "job.execution/damaged")).isPresent();
    assertThat(store.events(0, 10).events())
        .extracting(numbered -> numbered.event().kind())
        .contains("record.quarantined");
  }

  @Test
  void aClockThatIsSetBackDelaysNoRetryAndNoDeadline() throws InterruptedException {
    open(
        """
        again: {rtype: job, image: app:1, job: {retries: 1, backoff: {initial: 10s, max: 10s}}}
        late: {rtype: job, image: app:1, job: {deadline: 30s}}
        """);
    ExecutionId again = trigger("again", Map.of("exit", "1"));
    ExecutionId late = trigger("late", Map.of("endless", "true"));
    runs(late);
    Awaitility.await().until(() -> executor.execution(again).notBefore().isPresent());

    clock.set(Duration.ofHours(-1));
    clock.advance(Duration.ofSeconds(10));
    assertThat(ended(again).attempts()).hasSize(2);
    clock.advance(Duration.ofSeconds(20));
    assertThat(ended(late).status())
        .isEqualTo(
            new ExecutionStatus.Failed("its deadline of 30s passed", ended(late).attempt().exit()));
  }

  private void openOver(Predicate<Change> refused) {
    StateStore faulty =
        (StateStore)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {StateStore.class},
                (_, method, arguments) -> {
                  if (method.getName().equals("commit") && refused.test((Change) arguments[0])) {
                    throw new IllegalStateException("injected");
                  }
                  try {
                    return method.invoke(store, arguments);
                  } catch (InvocationTargetException e) {
                    throw e.getCause();
                  }
                });
    var parts =
        new JobParts(
            faulty,
            runtime,
            Jobs::container,
            initializer,
            artifacts,
            clock,
            _ -> {},
            new Random(),
            supervisor);
    executor = JobExecutor.open(parts, JobConfig.DEFAULT, Jobs.parse(ONE));
    clock.onAdvance(executor::wake);
  }

  /** The record of a kind that contains a text. */
  private static Optional<Change.Put> writes(Change change, String kind, String text) {
    return change.writes().stream()
        .filter(write -> write instanceof Change.Put put && put.kind().equals(kind))
        .map(Change.Put.class::cast)
        .filter(put -> new String(put.value(), StandardCharsets.UTF_8).contains(text))
        .findFirst();
  }

  private static boolean changes(Change change, String kind, String key) {
    return change.writes().stream()
        .anyMatch(
            write ->
                write instanceof Change.Put put
                    && put.kind().equals(kind)
                    && put.key().equals(key));
  }
}

package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.port.Container;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;

/** Containers of executions that wait for a place, made while those before them run. */
class QueueAheadJobsTest extends JobFixture {
  private static final String ONE_AT_A_TIME =
      "one: {rtype: job, image: app:1, labels: {fake.after: 1h}, job: {concurrency: 1}}";

  private static ConditionFactory soon() {
    return Awaitility.await().pollInterval(Duration.ofMillis(2));
  }

  private List<Container> prepared() {
    return runtime.list().stream()
        .filter(container -> container.status() instanceof ContainerStatus.Prepared)
        .toList();
  }

  private Container made() {
    return soon().until(this::prepared, found -> found.size() == 1).getFirst();
  }

  private void none() {
    soon().untilAsserted(() -> assertThat(prepared()).isEmpty());
  }

  private void cancel(ExecutionId id) throws InterruptedException {
    executor.cancel(id);
    assertThat(ended(id).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
  }

  @Test
  void theNextRunsInTheOneThatWasMadeForIt() throws InterruptedException {
    open(ONE_AT_A_TIME);
    ExecutionId first = trigger("one");
    runs(first);
    assertThat(prepared()).as("nobody waits").isEmpty();
    ExecutionId second = trigger("one", Map.of("exit", "4", "log", "mine", "after", "0ms"));
    ExecutionId third = trigger("one", Map.of("exit", "5", "after", "0ms"));
    Container ready = made();
    assertThat(ready.spec().labels()).containsEntry("fake.exit", "4");
    assertThat(world.journal()).doesNotContain("start " + ready.id().path());
    assertThat(executor.execution(second).startedAt()).as("it waits as before").isEmpty();
    clock.advance(Duration.ofMinutes(5));
    cancel(first);
    Execution end = ended(second);
    assertThat(end.container(1)).isEqualTo(ready.id());
    assertThat(end.status().exitCode()).hasValue(4);
    assertThat(output(second, 1)).containsExactly("mine");
    assertThat(end.startedAt().orElseThrow())
        .isAfterOrEqualTo(end.createdAt().plus(Duration.ofMinutes(5)));
    assertThat(ended(third).status().exitCode()).hasValue(5);
    soon().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
  }

  @Test
  void deadlinesCountFromTheStart() throws InterruptedException {
    open(ONE_AT_A_TIME.replace("concurrency: 1", "concurrency: 1, deadline: 30m"));
    ExecutionId first = trigger("one");
    runs(first);
    ExecutionId second = trigger("one");
    Container ready = made();
    clock.advance(Duration.ofMinutes(9));
    cancel(first);
    runs(second);
    assertThat(executor.execution(second).container(1)).isEqualTo(ready.id());
    clock.advance(Duration.ofMinutes(29));
    assertThat(executor.execution(second).status().finished()).isFalse();
    clock.advance(Duration.ofMinutes(1));
    assertThat(ended(second).status())
        .isInstanceOfSatisfying(
            ExecutionStatus.Failed.class,
            failed -> assertThat(failed.reason()).contains("deadline of 30m"));
  }

  @Test
  void behindTheLimitOfTheNodeOneOfEachJob() throws InterruptedException {
    open(
        "one: {rtype: job, image: app:1, labels: {fake.after: 1h}}\n"
            + "two: {rtype: job, image: app:1, labels: {fake.after: 1h}}",
        new JobConfig(1, 100, Duration.ofMinutes(1)));
    ExecutionId first = trigger("one");
    runs(first);
    List<ExecutionId> waiting =
        List.of(trigger("one"), trigger("one"), trigger("two"), trigger("two"));
    soon().untilAsserted(() -> assertThat(prepared()).hasSize(2));
    assertThat(prepared()).extracting(one -> one.id().service()).containsOnlyOnce("one", "two");
    for (ExecutionId id : waiting) {
      cancel(id);
    }
    none();
    cancel(first);
    soon().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
  }

  @Test
  void aCancelledOneLeavesItToTheNextThatWantsTheSame() throws InterruptedException {
    open(ONE_AT_A_TIME);
    runs(trigger("one"));
    ExecutionId second = trigger("one");
    ContainerId ready = made().id();
    ExecutionId third = trigger("one");
    ExecutionId other = trigger("one", Map.of("exit", "4"));
    cancel(second);
    assertThat(made().id()).isEqualTo(ready);
    cancel(third);
    soon()
        .untilAsserted(
            () ->
                assertThat(prepared())
                    .singleElement()
                    .satisfies(
                        one -> assertThat(one.spec().labels()).containsEntry("fake.exit", "4")));
    cancel(other);
    none();
    assertThat(runtime.list()).hasSize(1);
  }

  /** Also in the moment between its place and its start, whatever its thread is doing. */
  @Test
  void oneThatIsCancelledWhileItBeginsLeavesNothing() throws InterruptedException {
    open(ONE_AT_A_TIME);
    for (int i = 0; i < 50; i++) {
      ExecutionId first = trigger("one");
      ExecutionId second = trigger("one");
      if (i % 2 == 0) {
        Container _ = made();
      }
      executor.cancel(first);
      executor.cancel(second);
      assertThat(ended(first).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
      assertThat(ended(second).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
    }
    soon().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
    runs(trigger("one"));
    ExecutionId _ = trigger("one");
    Container _ = made();
  }

  @Test
  void aChangedJobGetsAnother() throws InterruptedException {
    open(ONE_AT_A_TIME);
    runs(trigger("one"));
    ExecutionId second = trigger("one");
    ContainerId before = made().id();
    executor.define(Jobs.DEPLOYMENT, Jobs.parse(ONE_AT_A_TIME.replace("app:1", "app:2")));
    soon()
        .untilAsserted(
            () ->
                assertThat(prepared())
                    .singleElement()
                    .satisfies(
                        one -> {
                          assertThat(one.id()).isNotEqualTo(before);
                          assertThat(one.spec().image()).hasToString("app:2");
                        }));
    executor.define(Jobs.DEPLOYMENT, List.of());
    assertThat(prepared()).isEmpty();
    assertThat(ended(second).status()).isInstanceOf(ExecutionStatus.Failed.class);
  }

  @Test
  void itGoesAfterTenMinutesAndTheNextGetsOneAgain() throws InterruptedException {
    open(ONE_AT_A_TIME);
    ExecutionId first = trigger("one");
    runs(first);
    ExecutionId second = trigger("one");
    Container _ = made();
    clock.advance(Duration.ofMinutes(10));
    none();
    ExecutionId third = trigger("one");
    cancel(first);
    runs(second);
    Container ready = made();
    cancel(second);
    runs(third);
    assertThat(executor.execution(third).container(1)).isEqualTo(ready.id());
  }

  @Test
  void whenItCannotBeMadeTheExecutionStartsAsUsual() throws InterruptedException {
    open(ONE_AT_A_TIME);
    ExecutionId first = trigger("one");
    runs(first);
    ExecutionId second = trigger("one", Map.of("fail", "prepare", "after", "0ms", "exit", "6"));
    soon().until(() -> world.journal().stream().anyMatch(line -> line.startsWith("prepare")));
    cancel(first);
    Execution end = ended(second);
    assertThat(end.status().exitCode()).hasValue(6);
    assertThat(end.attempts()).hasSize(1);
    assertThat(end.container(1).prepared()).isFalse();
    soon().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
  }

  @Test
  void whatAnEarlierProcessMadeIsRemovedAndTheQueueContinues() throws InterruptedException {
    open(ONE_AT_A_TIME);
    ExecutionId first = trigger("one");
    runs(first);
    ExecutionId second = trigger("one");
    ContainerId before = made().id();
    clock.advance(Duration.ofSeconds(1)); // no two processes begin at the same time
    open(ONE_AT_A_TIME);
    Container ready = made();
    assertThat(ready.id()).isNotEqualTo(before);
    assertThat(runtime.find(before)).isEmpty();
    cancel(first);
    runs(second);
    assertThat(executor.execution(second).container(1)).isEqualTo(ready.id());
    assertThat(executor.execution(second).attempts()).hasSize(1);
  }

  @Test
  void aLongQueueRunsEachOnce() throws InterruptedException {
    open(
        "one: {rtype: job, image: app:1, labels: {fake.exit: '0'}, job: {concurrency: 2, retention:"
            + " 1000h}}");
    var ids = IntStream.range(0, 200).mapToObj(_ -> trigger("one")).toList();
    for (ExecutionId id : ids) {
      Execution end = ended(id);
      assertThat(end.status()).isInstanceOf(ExecutionStatus.Completed.class);
      assertThat(end.attempts()).hasSize(1);
    }
    soon().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
    assertThat(world.journal().stream().filter(line -> line.startsWith("start "))).hasSize(200);
    assertThat(executor.queue()).isEmpty();
  }
}

package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.port.Container;
import dev.zlayer.port.Preparable;
import dev.zlayer.task.TaskScope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Containers that are made before the executions that run in them. */
class WarmJobsTest extends JobFixture {
  private static final String WARM =
      "one: {rtype: job, image: app:1, labels: {fake.exit: '3', fake.log: hello}, job: {warm: 2}}";

  private List<ContainerId> prepared() {
    return runtime.list().stream()
        .filter(container -> container.status() instanceof ContainerStatus.Prepared)
        .map(Container::id)
        .sorted(Comparator.comparingLong(ContainerId::generation))
        .toList();
  }

  private List<ContainerId> filled(int count) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(2))
        .untilAsserted(() -> assertThat(prepared()).hasSize(count));
    return prepared();
  }

  @Test
  void anExecutionRunsInTheOldestAndAnotherIsMade() throws InterruptedException {
    open(WARM);
    List<ContainerId> before = filled(2);
    assertThat(world.journal()).noneMatch(line -> line.startsWith("start"));
    ExecutionId id = trigger("one");
    Execution end = ended(id);
    assertThat(end.status().exitCode()).hasValue(3);
    assertThat(output(id, 1)).containsExactly("hello");
    assertThat(end.container(1)).isEqualTo(before.getFirst());
    assertThat(world.journal()).contains("start " + before.getFirst().path());
    List<ContainerId> after = filled(2);
    assertThat(after).contains(before.getLast()).doesNotContain(before.getFirst());
  }

  @Test
  void itIsRecordedAsRunningThereTogetherWithTheRequest() throws InterruptedException {
    open(WARM.replace("fake.exit: '3'", "fake.after: 1h"));
    List<ContainerId> before = filled(2);
    long events = store.events(0, Optional.empty(), 100).newest();
    ExecutionId id = trigger("one");
    Execution begun = executor.execution(id);
    assertThat(begun.status()).isInstanceOf(ExecutionStatus.Running.class);
    assertThat(begun.container(1)).isEqualTo(before.getFirst());
    assertThat(store.events(events, Optional.empty(), 100).events())
        .extracting(one -> one.event().kind())
        .containsExactly("job.pending", "job.initializing", "job.running");
    executor.cancel(id);
    assertThat(ended(id).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
    filled(2);
    assertThat(runtime.list()).hasSize(2);
  }

  /** Also in the moment before its thread does anything. */
  @Test
  void oneThatIsCancelledAtOnceKeepsNoneFromBeingMade() throws InterruptedException {
    open(WARM.replace("fake.exit: '3'", "fake.after: 1h"));
    for (int i = 0; i < 100; i++) {
      filled(2);
      ExecutionId id = trigger("one");
      executor.cancel(id);
      assertThat(ended(id).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
    }
    filled(2);
  }

  @Test
  void oneThatHasToWaitLeavesThemToOthers() throws InterruptedException {
    open(
        "one: {rtype: job, image: app:1, labels: {fake.after: 1h}, job: {warm: 1, concurrency:"
            + " 1}}");
    filled(1);
    ExecutionId first = trigger("one");
    reaches(first, ExecutionStatus.Running.class);
    List<ContainerId> next = filled(1);
    ExecutionId second = trigger("one");
    assertThat(executor.execution(second).status()).isInstanceOf(ExecutionStatus.Pending.class);
    assertThat(filled(1)).isEqualTo(next);
    executor.cancel(first);
    reaches(second, ExecutionStatus.Running.class);
    assertThat(executor.execution(second).container(1)).isEqualTo(next.getFirst());
    executor.cancel(second);
    assertThat(ended(second).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
  }

  @Test
  void oneThatSomebodyRemovedIsNotMissed() throws InterruptedException {
    open(WARM);
    for (ContainerId id : filled(2)) {
      runtime.find(id).orElseThrow().remove(true);
    }
    Execution end = ended(trigger("one"));
    assertThat(end.status().exitCode()).hasValue(3);
    assertThat(end.attempts()).hasSize(1);
    assertThat(end.container(1).prepared()).isFalse();
  }

  @Test
  void othersThanTheUsualVariablesAreMadeForTheExecution() throws InterruptedException {
    open(WARM);
    List<ContainerId> before = filled(2);
    Execution end = ended(trigger("one", Map.of("exit", "7")));
    assertThat(end.status().exitCode()).hasValue(7);
    assertThat(end.container(1).prepared()).isFalse();
    assertThat(prepared()).isEqualTo(before);
  }

  @Test
  void aChangedJobGetsOthers() {
    open(WARM);
    List<ContainerId> before = filled(2);
    executor.define(Jobs.DEPLOYMENT, Jobs.parse(WARM.replace("app:1", "app:2")));
    Awaitility.await()
        .untilAsserted(() -> assertThat(prepared()).hasSize(2).doesNotContainAnyElementsOf(before));
    executor.define(Jobs.DEPLOYMENT, List.of());
    filled(0);
    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void theyGoWhenNobodyTriggersTheJobAndComeBackWhenSomebodyDoes() throws InterruptedException {
    open(WARM);
    filled(2);
    clock.advance(Duration.ofMinutes(10));
    filled(0);
    Execution end = ended(trigger("one"));
    assertThat(end.status().exitCode()).hasValue(3);
    filled(2);
  }

  @Test
  void whatAnEarlierProcessMadeIsRemoved() throws InterruptedException {
    open(WARM);
    filled(2);
    executor.close(); // the image stays
    assertThat(runtime.list()).as("those that wait go with their owner").isEmpty();
    Container left =
        runtime.create(
            ContainerId.ofPrepared(Jobs.DEPLOYMENT, "one", 1),
            Jobs.container(Jobs.parse(WARM).getFirst(), Overrides.NONE));
    ((Preparable) left).prepare();
    open(WARM);
    Awaitility.await()
        .untilAsserted(() -> assertThat(prepared()).hasSize(2).doesNotContain(left.id()));
    assertThat(runtime.find(left.id())).isEmpty();
  }

  @Test
  void whenNoneCanBeMadeExecutionsStartAsUsual() throws InterruptedException {
    open(WARM.replace("fake.log: hello", "fake.log: hello, fake.fail: prepare"));
    Awaitility.await()
        .until(() -> world.journal().stream().anyMatch(line -> line.startsWith("prepare")));
    Execution end = ended(trigger("one"));
    assertThat(end.status().exitCode()).hasValue(3);
    assertThat(end.container(1).prepared()).isFalse();
    Awaitility.await().untilAsserted(() -> assertThat(runtime.list()).isEmpty());
  }

  @Test
  void eachOfManyAtOnceHasOneOfItsOwn() throws Exception {
    open(
        "one: {rtype: job, image: app:1, labels: {fake.exit: '3'}, job: {warm: 3, concurrency:"
            + " 20}}");
    for (int round = 0; round < 20; round++) {
      filled(3);
      var begun = new ConcurrentLinkedQueue<ExecutionId>();
      try (var scope = new TaskScope("burst", 8)) {
        for (int i = 0; i < 8; i++) {
          scope.fork(() -> begun.add(trigger("one")));
        }
        scope.join();
      }
      var used = new ArrayList<ContainerId>();
      for (ExecutionId id : begun) {
        Execution end = ended(id);
        assertThat(end.status().exitCode()).hasValue(3);
        assertThat(end.attempts()).hasSize(1);
        used.add(end.container(1));
      }
      assertThat(used).hasSize(8).doesNotHaveDuplicates();
    }
    filled(3);
  }

  /** A kill after the release and before the labels were written. */
  @Test
  void aStartThatWasInterruptedIsCalledAsItsExecution() throws InterruptedException {
    String lasting = WARM.replace("fake.exit: '3'", "fake.after: 1h");
    open(lasting);
    filled(2);
    ExecutionId id = trigger("one");
    reaches(id, ExecutionStatus.Running.class);
    Execution running = executor.execution(id);
    Container container = runtime.find(running.container(1)).orElseThrow();
    Awaitility.await().until(() -> container.status().alive());
    executor.close();
    ((Preparable) container).label(Map.of("com.zlayer.name", "", "com.zlayer.execution", ""));
    open(lasting);
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(container.spec().labels())
                    .containsEntry("com.zlayer.name", running.name())
                    .containsEntry("com.zlayer.execution", id.text()));
    executor.cancel(id);
    assertThat(ended(id).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
  }

  @Test
  void retriesAndCancelledOnesLeaveNothing() throws InterruptedException {
    open(
        "one: {rtype: job, image: app:1, labels: {fake.exit: '3'}, job: {warm: 1, retries: 1,"
            + " backoff: 1s}}");
    filled(1);
    ExecutionId id = trigger("one");
    reaches(id, ExecutionStatus.Pending.class);
    filled(1);
    clock.advance(Duration.ofSeconds(1));
    Execution end = ended(id);
    assertThat(end.attempts()).hasSize(2);
    assertThat(end.container(1)).isNotEqualTo(end.container(2));
    filled(1);
    assertThat(runtime.list()).hasSize(1);
  }
}

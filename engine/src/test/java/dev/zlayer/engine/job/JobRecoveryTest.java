package dev.zlayer.engine.job;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.LogQuery;
import dev.zlayer.engine.init.InitObserver;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.state.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** What a later agent finds, and what goes with time. */
class JobRecoveryTest extends JobFixture {
  @Test
  void anotherAgentGoesOnWithRunningEndedAndWaitingOnes() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {concurrency: 2}}");
    ExecutionId running = trigger("one", Map.of("exit", "4", "after", "1h", "log", "long"));
    ExecutionId ending = trigger("one", Map.of("exit", "5", "after", "1m", "log", "short"));
    ExecutionId waiting = trigger("one", Map.of("exit", "6", "log", "later"));
    runs(running);
    runs(ending);
    executor.close();
    clock.advance(Duration.ofMinutes(5));

    open("one: {rtype: job, image: app:1, job: {concurrency: 2}}");
    Execution first = ended(ending);
    assertThat(first.status().text()).isEqualTo("failed(5)");
    assertThat(first.attempt().finishedAt())
        .as("when it ended, not when it was seen")
        .contains(FakeClock.START.plusSeconds(60));
    assertThat(output(ending, 1)).containsExactly("short");
    assertThat(ended(waiting).status().text()).isEqualTo("failed(6)");
    clock.advance(Duration.ofHours(1));
    assertThat(ended(running).status().text()).isEqualTo("failed(4)");
    assertThat(world.journal().stream().filter(line -> line.startsWith("start"))).hasSize(3);
  }

  @Test
  void aRemovedJobsWaitingExecutionFailsAndItsRunningOneGoesOn() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {concurrency: 1}}");
    ExecutionId running = trigger("one", Map.of("exit", "0", "after", "1m"));
    ExecutionId waiting = trigger("one");
    runs(running);

    executor.define(Jobs.DEPLOYMENT, List.of());
    clock.advance(Duration.ofMinutes(1));

    assertThat(ended(running).status().text()).isEqualTo("completed(0)");
    assertThat(((ExecutionStatus.Failed) ended(waiting).status()).reason())
        .isEqualTo("job 'shop/one' was removed");
  }

  @Test
  void aContainerThatSomebodyRemovedIsReportedAsUnknown() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one");
    runs(id);
    executor.close();
    runtime.list().getFirst().remove(true);

    open(ONE);

    ExecutionStatus status = ended(id).status();
    assertThat(status).isInstanceOf(ExecutionStatus.Failed.class);
    assertThat(((ExecutionStatus.Failed) status).reason())
        .contains("it was removed while it was running");
  }

  /** Files that a store refuses until it is told otherwise. */
  private static final class Store implements Initializer {
    volatile boolean open;
    final AtomicInteger tries = new AtomicInteger();

    @Override
    public void run(Request request, InitObserver observer) {}

    @Override
    public boolean delivers(Container ended) {
      return true;
    }

    @Override
    public void deliver(Container ended, InitObserver observer) throws InterruptedException {
      tries.incrementAndGet();
      Thread.sleep(Duration.ofMillis(1));
      if (!open) {
        throw new AgentException.Network("the store is closed, says the test");
      }
    }
  }

  @Test
  void aResultDoesNotDependOnTheUploadNorOnTheAgentThatDoesIt() throws InterruptedException {
    var files = new Store();
    initializer = files;
    String job = "one: {rtype: job, image: app:1, job: {retries: 5, deadline: 1m}}";
    open(job);
    ExecutionId id = trigger("one", Map.of("exit", "0", "log", "done"));
    reaches(id, ExecutionStatus.Uploading.class);
    clock.advance(Duration.ofHours(1));
    Awaitility.await().until(() -> files.tries.get() > 5);
    assertThat(executor.execution(id).status().text()).isEqualTo("uploading(0)");
    executor.close();

    open(job);
    int before = files.tries.get();
    Awaitility.await().until(() -> files.tries.get() > before);
    assertThat(runtime.list()).as("the container keeps the files").hasSize(1);
    files.open = true;

    assertThat(ended(id).status().text()).isEqualTo("completed(0)");
    assertThat(ended(id).attempts()).hasSize(1);
    assertThat(output(id, 1)).containsExactly("done");
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void anUploadEndsWhenItIsCancelled() throws InterruptedException {
    initializer = new Store();
    open(ONE);
    ExecutionId id = trigger("one", Map.of("exit", "0"));
    reaches(id, ExecutionStatus.Uploading.class);

    executor.cancel(id);

    assertThat(ended(id).status()).isInstanceOf(ExecutionStatus.Cancelled.class);
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void resultsAreDroppedByAgeAndFailedOnesLater() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {retention: {age: 1h, failed_age: 3h}}}");
    ExecutionId good = trigger("one", Map.of("exit", "0", "log", "x"));
    ExecutionId bad = trigger("one", Map.of("exit", "1", "log", "x"));
    ended(good);
    ended(bad);

    clock.advance(Duration.ofHours(1));
    Awaitility.await().until(() -> executor.find(good).isEmpty());
    assertThat(executor.find(bad)).isPresent();
    clock.advance(Duration.ofHours(2));
    Awaitility.await().until(() -> executor.find(bad).isEmpty());

    assertThat(store.list(Ledger.EXECUTIONS)).isEmpty();
    assertThat(store.list(Ledger.LOGS)).isEmpty();
    assertThatThrownBy(() -> executor.output(good, 1, LogQuery.ALL))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void resultsThatAreTooManyAreDroppedSoonAfterTheEnd() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {retention: {count: 2}}}");
    ExecutionId bad = trigger("one", Map.of("exit", "1"));
    ended(bad);
    ExecutionId good = trigger("one", Map.of("exit", "0"));
    ended(good);
    clock.advance(Duration.ofSeconds(2));
    ExecutionId last = trigger("one", Map.of("exit", "0"));
    ended(last);

    clock.advance(Duration.ofSeconds(2));
    Awaitility.await().until(() -> executor.find(good).isEmpty());
    assertThat(executor.list()).extracting(Execution::id).containsExactly(bad, last);
  }

  @Test
  void containersThatNoExecutionNeedsAreTakenAway() {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("exit", "0", "fail", "remove", "fail.times", "7"));
    reaches(id, ExecutionStatus.Completed.class);
    Awaitility.await()
        // the tidying of the start may have come late and tried, too
        .until(() -> world.journal().stream().filter(l -> l.startsWith("remove")).count() >= 5);
    assertThat(runtime.list()).hasSize(1);

    for (int i = 0; i < 3; i++) {
      clock.advance(Duration.ofMinutes(2));
      int removals = 6 + i;
      Awaitility.await()
          .until(
              () ->
                  runtime.list().isEmpty()
                      || world.journal().stream().filter(l -> l.startsWith("remove")).count()
                          >= removals);
    }
    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void idsSortByTimeEvenWhenMadeAtOnce() {
    open("one: {rtype: job, image: app:1, job: {concurrency: 1}}");
    List<ExecutionId> ids = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      ids.add(trigger("one"));
    }
    executor.close();
    open("one: {rtype: job, image: app:1, job: {concurrency: 1}}");
    ids.add(trigger("one"));

    assertThat(ids).isSorted().doesNotHaveDuplicates();
    assertThat(ids).allSatisfy(id -> assertThat(ExecutionId.parse(id.text())).isEqualTo(id));
  }

  @Test
  void eachJobCountsItsOwnExecutions() throws InterruptedException {
    String two = ONE + "\ntwo: {rtype: job, image: app:1}";
    open(two);
    assertThat(names("one", "one", "two", "one"))
        .containsExactly("shop/one/1", "shop/one/2", "shop/two/1", "shop/one/3");

    open(two);
    assertThat(names("two", "one")).containsExactly("shop/two/2", "shop/one/4");
  }

  @Test
  void aNumberIsNotGivenAgainWhenItsExecutionIsKeptNoLonger() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {retention: {age: 1h, failed_age: 1h}}}");
    ExecutionId old = trigger("one", Map.of("exit", "0"));
    ended(old);
    clock.advance(Duration.ofHours(3));
    Awaitility.await().until(() -> executor.find(old).isEmpty());

    open(ONE);
    assertThat(names("one")).containsExactly("shop/one/2");
  }

  @Test
  void numbersOfAnEarlierVersionGoOnAfterTheHighestOfTheJob() throws InterruptedException {
    String aged =
        "one: {rtype: job, image: app:1, job: {retention: {age: 1h, failed_age: 1h}}}\n"
            + "two: {rtype: job, image: app:1}";
    open(aged);
    names("one", "one", "two", "one").forEach(_ -> {});
    executor.close();
    // one counter for all jobs, as it was once
    store
        .list(ExecutionNumbers.COUNTERS)
        .forEach(
            entry ->
                store.commit(Change.of(new Change.Delete(ExecutionNumbers.COUNTERS, entry.key()))));
    store.commit(
        Change.of(
            new Change.Put(
                ExecutionNumbers.COUNTERS, ExecutionNumbers.OF_NODE, "4".getBytes(UTF_8))));

    open(aged);
    List<ExecutionId> kept = executor.list(Jobs.key("one")).stream().map(Execution::id).toList();
    for (ExecutionId id : kept) {
      ended(id);
    }
    clock.advance(Duration.ofHours(3));
    Awaitility.await().until(() -> executor.list(Jobs.key("one")).isEmpty());

    open(aged);
    assertThat(names("two", "one")).containsExactly("shop/two/2", "shop/one/4");
    assertThat(store.keys(ExecutionNumbers.COUNTERS, "")).containsExactly("shop/one", "shop/two");
  }

  @Test
  void aDamagedCounterGoesOnAfterWhatIsKept() {
    open(ONE);
    names("one", "one").forEach(_ -> {});
    executor.close();
    store.commit(
        Change.of(new Change.Put(ExecutionNumbers.COUNTERS, "shop/one", "damage".getBytes(UTF_8))));

    open(ONE);
    assertThat(names("one")).containsExactly("shop/one/3");
  }

  private List<String> names(String... jobs) {
    return Arrays.stream(jobs)
        .map(job -> executor.execution(trigger(job, Map.of("exit", "0"))).name())
        .toList();
  }

  @Test
  void waitingForTheEndHasADeadline() {
    open(ONE);
    ExecutionId id = trigger("one");

    assertThatThrownBy(() -> executor.await(id, Deadline.after(Duration.ofMillis(5))))
        .isInstanceOf(AgentException.Timeout.class);
  }
}

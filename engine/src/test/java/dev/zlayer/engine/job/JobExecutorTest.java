package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobExecutorTest {
  @TempDir Path artifacts;
  private final FakeClock clock = new FakeClock();
  private final FakeWorld world = new FakeWorld(clock);
  private final MemoryStateStore store = new MemoryStateStore();
  private Initializer initializer = (_, _) -> {};
  private ContainerRuntime runtime = new FakeRuntime(world);
  private JobExecutor executor;

  @AfterEach
  void close() {
    if (executor != null) {
      executor.close();
    }
  }

  private JobExecutor open(String services) {
    return open(services, JobConfig.DEFAULT);
  }

  private JobExecutor open(String services, JobConfig config) {
    close();
    var parts =
        new JobParts(
            store, runtime, Jobs::container, initializer, artifacts, clock, _ -> {}, new Random());
    executor = JobExecutor.open(parts, config, Jobs.parse(services));
    clock.onAdvance(executor::wake);
    return executor;
  }

  private ExecutionId trigger(String job) {
    return executor.trigger(TriggerRequest.of(Jobs.key(job), new Trigger.Cli()));
  }

  private ExecutionId trigger(String job, Map<String, String> behaviour) {
    return executor.trigger(
        TriggerRequest.of(Jobs.key(job), new Trigger.Cli()).with(Jobs.behaving(behaviour)));
  }

  private Execution ended(ExecutionId id) throws InterruptedException {
    return executor.await(id, Deadline.after(Duration.ofSeconds(20)));
  }

  private void reaches(ExecutionId id, Class<? extends ExecutionStatus> status) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(2))
        .untilAsserted(() -> assertThat(executor.execution(id).status()).isInstanceOf(status));
  }

  private List<String> output(ExecutionId id, int attempt) throws InterruptedException {
    var lines = new ArrayList<String>();
    try (var reader = executor.output(id, attempt, LogQuery.ALL)) {
      for (Optional<LogRecord> l = reader.next(); l.isPresent(); l = reader.next()) {
        lines.add(l.get().text());
      }
    }
    return lines;
  }

  private static final String ONE = "one: {rtype: job, image: app:1}";

  @Test
  void runsToTheEndAndKeepsCodeTimesAndOutput() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("exit", "0", "after", "3s", "log", "a\nstderr:b"));
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await().until(() -> output(id, 1).size() == 2);
    assertThat(output(id, 1)).as("live").containsExactly("a", "b");
    clock.advance(Duration.ofSeconds(3));

    Execution done = ended(id);

    assertThat(done.status()).isEqualTo(new ExecutionStatus.Completed(0, Duration.ofSeconds(3)));
    assertThat(done.createdAt()).isEqualTo(FakeClock.START);
    assertThat(done.attempt().finishedAt()).contains(FakeClock.START.plusSeconds(3));
    Awaitility.await().until(() -> runtime.list().isEmpty());
    assertThat(output(id, 1)).as("after the container is gone").containsExactly("a", "b");
    assertThat(store.events(0, 100).events())
        .extracting(event -> event.event().kind())
        .containsExactly("job.pending", "job.initializing", "job.running", "job.completed");
  }

  @Test
  void tellsSignalsAndMemoryFromCodes() throws InterruptedException {
    open(ONE);

    assertThat(ended(trigger("one", Map.of("signal", "SEGV"))).status())
        .isEqualTo(
            new ExecutionStatus.Failed(
                "killed by SIGSEGV", Optional.of(new ExitStatus.Signalled(Signal.parse("SEGV")))));
    assertThat(ended(trigger("one", Map.of("oom", "true"))).status())
        .isEqualTo(
            new ExecutionStatus.Failed("out of memory", Optional.of(new ExitStatus.OutOfMemory())));
    assertThat(ended(trigger("one", Map.of("exit", "3"))).status().text()).isEqualTo("failed(3)");
  }

  @Test
  void retriesWithGrowingPausesAndKeepsEveryAttempt() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {retries: 2, backoff: {initial: 10s, max: 15s}}}");
    ExecutionId id = trigger("one", Map.of("exit", "9", "log", "try"));

    Awaitility.await().until(() -> executor.execution(id).notBefore().isPresent());
    assertThat(executor.execution(id).notBefore()).contains(FakeClock.START.plusSeconds(10));
    assertThat(executor.queue()).extracting(q -> q.execution().id()).containsExactly(id);
    clock.advance(Duration.ofSeconds(10));
    Awaitility.await().until(() -> executor.execution(id).attempts().size() == 2);
    Awaitility.await().until(() -> executor.execution(id).notBefore().isPresent());
    clock.advance(Duration.ofSeconds(14));
    assertThat(executor.execution(id).attempts()).hasSize(2);
    clock.advance(Duration.ofSeconds(1));

    Execution done = ended(id);
    assertThat(done.status().text()).isEqualTo("failed(9)");
    assertThat(done.attempts()).hasSize(3);
    assertThat(output(id, 1)).containsExactly("try");
    assertThat(output(id, 3)).containsExactly("try");
  }

  @Test
  void exitCodesMeanWhatTheJobSays() throws InterruptedException {
    open(
        """
        one:
          rtype: job
          image: app:1
          job: {retries: 5, backoff: 0s, exit_codes: {"3": fail, "4-6": succeed}}
        """);

    Execution failed = ended(trigger("one", Map.of("exit", "3")));
    assertThat(failed.status().text()).isEqualTo("failed(3)");
    assertThat(failed.attempts()).hasSize(1);
    assertThat(ended(trigger("one", Map.of("exit", "5"))).status().text())
        .isEqualTo("completed(5)");
  }

  @Test
  void aWrongRequestIsNotTriedAgain() throws InterruptedException {
    open("one: {rtype: job, image: {name: app:1, pull_policy: never}, job: {retries: 5}}");

    Execution failed = ended(trigger("one"));

    assertThat(failed.attempts()).hasSize(1);
    assertThat(failed.status()).isInstanceOf(ExecutionStatus.Failed.class);
  }

  @Test
  void theDeadlineKillsAndSaysSo() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {deadline: 5s, retries: 3}}");
    ExecutionId id = trigger("one", Map.of("ignore-term", "true", "log", "busy"));
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await().until(() -> !output(id, 1).isEmpty());
    clock.advance(Duration.ofSeconds(5));

    Execution failed = ended(id);

    assertThat(failed.status())
        .isEqualTo(
            new ExecutionStatus.Failed(
                "its deadline of 5s passed", Optional.of(new ExitStatus.Signalled(Signal.KILL))));
    assertThat(failed.attempts()).hasSize(1);
    assertThat(output(id, 1)).containsExactly("busy");
  }

  @Test
  void aTriggerMayOverrideTheDeadline() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {deadline: 5h}}");
    var overrides = new Overrides(Optional.empty(), Map.of(), Optional.of(Duration.ofSeconds(1)));
    ExecutionId id =
        executor.trigger(
            TriggerRequest.of(Jobs.key("one"), new Trigger.Endpoint(Optional.of("192.0.2.9")))
                .with(overrides));
    reaches(id, ExecutionStatus.Running.class);
    clock.advance(Duration.ofSeconds(1));

    assertThat(((ExecutionStatus.Failed) ended(id).status()).reason())
        .isEqualTo("its deadline of 1s passed");
  }

  @Test
  void limitsPerJobAndOrderByPriorityThenAge() throws InterruptedException {
    open(
        """
        low: {rtype: job, image: app:1, job: {concurrency: 1}}
        high: {rtype: job, image: app:1, job: {priority: 5}}
        """,
        new JobConfig(1, 100, Duration.ofHours(1)));
    ExecutionId first = trigger("low");
    reaches(first, ExecutionStatus.Running.class);
    ExecutionId second = trigger("low", Map.of("exit", "0"));
    ExecutionId third = trigger("high", Map.of("exit", "0"));
    ExecutionId fourth = trigger("low", Map.of("exit", "0"));

    assertThat(executor.queue())
        .extracting(queued -> queued.execution().id())
        .containsExactly(third, second, fourth);
    assertThat(executor.queue()).extracting(JobExecutor.Queued::position).containsExactly(0, 1, 2);

    executor.cancel(first);
    ended(fourth);
    assertThat(world.journal().stream().filter(line -> line.startsWith("start")))
        .containsExactly(
            "start " + executor.execution(first).container(1),
            "start " + executor.execution(third).container(1),
            "start " + executor.execution(second).container(1),
            "start " + executor.execution(fourth).container(1));
  }

  @Test
  void aFullQueueRefusesAndRecordsNothing() {
    open("one: {rtype: job, image: app:1, job: {concurrency: 1, queue: 1}}");
    ExecutionId running = trigger("one");
    reaches(running, ExecutionStatus.Running.class);
    trigger("one");

    assertThatThrownBy(() -> trigger("one"))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("the queue of job 'shop/one' is full, 1 executions wait");
    assertThat(executor.list()).hasSize(2);
    assertThatThrownBy(() -> trigger("other")).isInstanceOf(AgentException.NotFound.class);
  }

  private static final String NEEDS =
      """
      base: {rtype: job, image: app:1}
      left: {rtype: job, image: app:1, job: {needs: [base]}}
      right: {rtype: job, image: app:1, job: {needs: [base]}}
      top: {rtype: job, image: app:1, job: {needs: [left, right]}}
      """;

  @Test
  void runsWhatIsNeededFirstAndOnce() throws InterruptedException {
    open(NEEDS.replace("image: app:1", "image: app:1, labels: {fake.exit: '0'}"));
    ExecutionId top = trigger("top");

    assertThat(ended(top).status().text()).isEqualTo("completed(0)");
    assertThat(executor.list())
        .extracting(execution -> execution.job().name())
        .containsExactly("base", "left", "right", "top");
    Execution base = executor.list().getFirst();
    assertThat(base.trigger()).isEqualTo(new Trigger.Internal("needed by shop/top"));
    assertThat(executor.execution(top).startedAt().orElseThrow())
        .isAfterOrEqualTo(base.finishedAt().orElseThrow());
  }

  @Test
  void whatNeedsAFailedJobFailsWithTheReason() throws InterruptedException {
    open(NEEDS.replace("base: {rtype: job,", "base: {rtype: job, labels: {fake.exit: '7'},"));

    assertThat(((ExecutionStatus.Failed) ended(trigger("top")).status()).reason())
        .isEqualTo("needs job 'shop/left', which failed");
    assertThat(world.journal().stream().filter(line -> line.startsWith("start"))).hasSize(1);
  }

  @Test
  void cancelTakesAWaitingOneOutOfTheQueue() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {concurrency: 1}}");
    ExecutionId running = trigger("one");
    ExecutionId waiting = trigger("one");
    reaches(running, ExecutionStatus.Running.class);

    assertThat(executor.cancel(waiting).status()).isEqualTo(new ExecutionStatus.Cancelled());
    executor.cancel(running);
    ended(running);

    assertThat(executor.execution(waiting).attempts()).isEmpty();
  }

  @Test
  void cancelStopsARunWithGraceAndKeepsItsOutput() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("on.TERM", "0", "log", "work"));
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await().until(() -> !output(id, 1).isEmpty());

    executor.cancel(id);

    Execution done = ended(id);
    assertThat(done.status())
        .as("although it ended with 0")
        .isEqualTo(new ExecutionStatus.Cancelled());
    assertThat(done.attempt().exit()).contains(new ExitStatus.Code(0));
    assertThat(output(id, 1)).containsExactly("work");
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void cancelInterruptsInitSteps() throws InterruptedException {
    var begun = new CountDownLatch(1);
    initializer =
        (_, _) -> {
          begun.countDown();
          new CountDownLatch(1).await();
        };
    open(
        """
        one:
          rtype: job
          image: app:1
          init: {steps: [{id: wait, uses: init.wait_tcp, with: {host: db, port: 1}}]}
        """);
    ExecutionId id = trigger("one");
    begun.await();
    assertThat(executor.execution(id).status()).isInstanceOf(ExecutionStatus.Initializing.class);

    executor.cancel(id);

    assertThat(ended(id).status()).isEqualTo(new ExecutionStatus.Cancelled());
    assertThat(world.journal()).isEmpty();
  }

  @Test
  void cancellingWhatHasEndedOrNeverWasSaysSo() throws InterruptedException {
    open(ONE);
    ExecutionId id = trigger("one", Map.of("exit", "0"));
    ended(id);

    assertThatThrownBy(() -> executor.cancel(id))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("it has ended already, completed(0)");
    assertThatThrownBy(() -> executor.cancel(new ExecutionId("nothing")))
        .isInstanceOf(AgentException.NotFound.class);
    assertThat(executor.execution(id).status().text()).isEqualTo("completed(0)");
  }

  @Test
  void anotherAgentGoesOnWithRunningEndedAndWaitingOnes() throws InterruptedException {
    open("one: {rtype: job, image: app:1, job: {concurrency: 2}}");
    ExecutionId running = trigger("one", Map.of("exit", "4", "after", "1h", "log", "long"));
    ExecutionId ending = trigger("one", Map.of("exit", "5", "after", "1m", "log", "short"));
    ExecutionId waiting = trigger("one", Map.of("exit", "6", "log", "later"));
    reaches(running, ExecutionStatus.Running.class);
    reaches(ending, ExecutionStatus.Running.class);
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
    reaches(running, ExecutionStatus.Running.class);

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
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await()
        .until(() -> runtime.list().getFirst().status() instanceof ContainerStatus.Running);
    executor.close();
    runtime.list().getFirst().remove(true);

    open(ONE);

    ExecutionStatus status = ended(id).status();
    assertThat(status).isInstanceOf(ExecutionStatus.Failed.class);
    assertThat(((ExecutionStatus.Failed) status).reason())
        .contains("somebody removed it while it ran");
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
  void waitingForTheEndHasADeadline() {
    open(ONE);
    ExecutionId id = trigger("one");

    assertThatThrownBy(() -> executor.await(id, Deadline.after(Duration.ofMillis(5))))
        .isInstanceOf(AgentException.Timeout.class);
  }
}

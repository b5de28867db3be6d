package dev.zlayer.engine.cron;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.ExecutionStatus;
import dev.zlayer.engine.job.JobConfig;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.JobParts;
import dev.zlayer.engine.job.Jobs;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.schedule.CronPlanner;
import dev.zlayer.schedule.Skipped;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CronSchedulerTest {
  private static final JobKey REPORT = Jobs.key("report");

  @TempDir Path artifacts;
  private final FakeClock clock = new FakeClock();
  private final Supervisor supervisor = new Supervisor();
  private final FakeWorld world = new FakeWorld(clock);
  private final MemoryStateStore memory = new MemoryStateStore();
  private final AtomicInteger refusals = new AtomicInteger();
  private final AtomicInteger faults = new AtomicInteger();
  private final AtomicInteger refused = new AtomicInteger();
  private final AtomicBoolean fatal = new AtomicBoolean();
  private final StateStore store = failing();
  private final FakeRuntime runtime = new FakeRuntime(world);
  private JobExecutor jobs;
  private CronScheduler cron;

  @AfterEach
  void close() {
    if (cron != null) {
      cron.close();
      jobs.close();
    }
  }

  private StateStore failing() {
    return (StateStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {StateStore.class},
            (_, method, arguments) -> {
              if (method.getName().equals("commit")
                  && fatal.get()
                  && ((Change) arguments[0])
                      .events().stream().anyMatch(event -> event.kind().equals("cron.skipped"))
                  && memory.find(Quarantine.FATAL, CronState.KIND + "/" + REPORT).isEmpty()) {
                throw new StackOverflowError("injected");
              }
              if (method.getName().equals("commit")
                  && faults.getAndUpdate(CronSchedulerTest::less) > 0) {
                throw new IllegalStateException("a fault, says the test");
              }
              if (method.getName().equals("commit") && refusals.get() > 0) {
                refusals.decrementAndGet();
                refused.incrementAndGet();
                throw new AgentException.Configuration("no space is left, says the test");
              }
              try {
                return method.invoke(memory, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private void open(String settings, String labels) {
    close();
    List<JobDefinition> definitions =
        Jobs.parse(
            """
            report:
              rtype: cron
              schedule: '0 * * * *'
              image: app:1
              cron: {%s}
              labels: {%s}
              job: {retention: 1000h}
            """
                .formatted(settings, labels));
    var parts =
        new JobParts(
            store,
            runtime,
            Jobs::container,
            (_, _) -> {},
            artifacts,
            clock,
            _ -> {},
            new Random(),
            supervisor);
    jobs = JobExecutor.open(parts, JobConfig.DEFAULT, definitions);
    cron = CronScheduler.open(store, jobs, clock, supervisor, definitions);
    clock.onAdvance(jobs::wake);
    clock.onAdvance(cron::wake);
  }

  private static Instant hour(int number) {
    return FakeClock.START.plus(Duration.ofHours(number));
  }

  /** Advances and waits until the loop has looked. */
  private void advance(Duration step) {
    clock.advance(step);
    Awaitility.await()
        .pollInterval(Duration.ofMillis(2))
        .until(
            () ->
                cron.find(REPORT)
                    .orElseThrow()
                    .nextRun()
                    .map(next -> next.isAfter(clock.instant()))
                    .orElse(true));
  }

  private List<Execution> executions(int count) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(2))
        .until(() -> jobs.list(REPORT).size() == count);
    return jobs.list(REPORT);
  }

  private static Instant due(Execution execution) {
    return ((Trigger.Scheduler) execution.trigger()).due();
  }

  private void reaches(ExecutionId id, Class<? extends ExecutionStatus> status) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(2))
        .untilAsserted(() -> assertThat(jobs.execution(id).status()).isInstanceOf(status));
  }

  @Test
  void runsAtItsTimesAndRemembersLastAndNext() {
    open("", "fake.exit: '0'");
    assertThat(cron.find(REPORT).orElseThrow().nextDue()).contains(hour(1));

    for (int i = 1; i <= 3; i++) {
      advance(Duration.ofHours(1));
      Execution newest = executions(i).getLast();
      assertThat(due(newest)).isEqualTo(hour(i));
      reaches(newest.id(), ExecutionStatus.Completed.class);
    }

    CronStatus status = cron.find(REPORT).orElseThrow();
    assertThat(status.lastDue()).contains(hour(3));
    assertThat(status.nextDue()).contains(hour(4));
    assertThat(status.skips()).isZero();
  }

  private List<Container> prepared() {
    return runtime.list().stream()
        .filter(container -> container.status() instanceof ContainerStatus.Prepared)
        .toList();
  }

  private Container made() {
    return Awaitility.await().until(this::prepared, found -> found.size() == 1).getFirst();
  }

  private void noneIsMade() {
    Awaitility.await().until(() -> prepared().isEmpty());
  }

  /** Nothing is made for a while in which it would be. */
  private void noneComes() {
    Awaitility.await()
        .during(Duration.ofMillis(100))
        .atMost(Duration.ofSeconds(30))
        .until(() -> prepared().isEmpty());
  }

  @Test
  void theContainerOfARunIsMadeSecondsBeforeItsTime() {
    open("", "fake.exit: '3'");
    advance(Duration.ofHours(1).minusSeconds(6));
    noneComes();
    advance(Duration.ofSeconds(1));
    Container ready = made();
    assertThat(jobs.list(REPORT)).isEmpty();
    assertThat(world.journal()).noneMatch(line -> line.startsWith("start"));
    advance(Duration.ofSeconds(5));
    Execution run = executions(1).getFirst();
    reaches(run.id(), ExecutionStatus.Failed.class);
    assertThat(jobs.execution(run.id()).container(1)).isEqualTo(ready.id());
    assertThat(due(run)).isEqualTo(hour(1));
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void aScheduleThatIsChangedOrOffDropsIt() {
    open("", "fake.exit: '0'");
    advance(Duration.ofHours(1).minusSeconds(3));
    Container _ = made();
    cron.disable(REPORT);
    noneIsMade();
    cron.enable(REPORT);
    Container _ = made();
    List<JobDefinition> later =
        Jobs.parse("report: {rtype: cron, schedule: '30 * * * *', image: app:1}");
    jobs.define(Jobs.DEPLOYMENT, later);
    cron.define(Jobs.DEPLOYMENT, later);
    noneIsMade();
    assertThat(jobs.list(REPORT)).isEmpty();
  }

  @Test
  void aClockThatIsSetDropsItOrUsesIt() {
    open("", "fake.exit: '0'");
    advance(Duration.ofHours(1).minusSeconds(3));
    Container _ = made();
    clock.set(Duration.ofMinutes(-20));
    advance(Duration.ZERO);
    noneIsMade();
    advance(Duration.ofMinutes(20));
    Container ready = made();
    clock.set(Duration.ofSeconds(30));
    advance(Duration.ZERO);
    Execution run = executions(1).getFirst();
    reaches(run.id(), ExecutionStatus.Completed.class);
    assertThat(jobs.execution(run.id()).container(1)).isEqualTo(ready.id());
    Awaitility.await().until(() -> runtime.list().isEmpty());
  }

  @Test
  void noneIsMadeForARunThatIsSkippedOrWaits() {
    for (String overlap : List.of("forbid", "queue")) {
      open("overlap: " + overlap, "fake.after: 100h");
      ExecutionId before = cron.runNow(REPORT, new Trigger.Cli());
      reaches(before, ExecutionStatus.Running.class);
      Duration left = Duration.between(clock.instant(), nextRun()).minusSeconds(2);
      advance(left);
      noneComes();
      Execution _ = jobs.cancel(before);
      reaches(before, ExecutionStatus.Cancelled.class);
      cron.wake();
      Container _ = made();
    }
  }

  private Instant nextRun() {
    return cron.find(REPORT).orElseThrow().nextRun().orElseThrow();
  }

  @Test
  void aClockThatIsSetBackSilencesNoSchedule() {
    open("", "fake.exit: '0'");
    for (int i = 1; i <= 2; i++) {
      advance(Duration.ofHours(1));
      reaches(executions(i).getLast().id(), ExecutionStatus.Completed.class);
    }

    clock.set(Duration.ofHours(-2));
    advance(Duration.ofHours(1));

    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(jobs.list(REPORT))
                    .as("%s", cron.find(REPORT))
                    .extracting(CronSchedulerTest::due)
                    .containsExactlyInAnyOrder(hour(1), hour(2), hour(1)));
  }

  @Test
  void aTimeOfTheDayIsNotRunAgainWhenTheClockIsSetBack() {
    CronEntry daily = entry("0 1 * * *").with(state(hour(1)));
    Instant before = hour(1).minus(Duration.ofMinutes(30));
    assertThat(daily.clockMoved(Duration.ofHours(-1), before).nextDue()).contains(hour(25));

    Instant longBefore = hour(1).minus(Duration.ofHours(20));
    assertThat(daily.clockMoved(Duration.ofHours(-21), longBefore).nextDue()).contains(hour(1));
  }

  private static CronEntry entry(String schedule) {
    JobDefinition job =
        Jobs.parse("report: {rtype: cron, schedule: '%s', image: app:1}".formatted(schedule))
            .getFirst();
    return CronEntry.of(job, CronState.fresh(REPORT, "", FakeClock.START)).settled(FakeClock.START);
  }

  private static CronState state(Instant anchor) {
    CronState fresh = entry("0 1 * * *").state();
    return fresh.ran(anchor, anchor);
  }

  @Test
  void aScheduleThatItsOwnerDiesOfIsPutAsideAndReported() {
    open("overlap: forbid", "");
    advance(Duration.ofHours(1));
    reaches(executions(1).getFirst().id(), ExecutionStatus.Running.class);
    fatal.set(true);
    clock.advance(Duration.ofHours(1));

    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> memory.find(Quarantine.FATAL, CronState.KIND + "/" + REPORT).isPresent());
    assertThat(memory.events(0, 100).events())
        .extracting(numbered -> numbered.event().kind() + " " + numbered.event().subject())
        .contains("record.quarantined " + CronState.KIND + "/" + REPORT);
    advance(Duration.ofHours(1));
    assertThat(supervisor.failure()).isEmpty();
    assertThat(cron.find(REPORT).orElseThrow().lastSkip().orElseThrow().last()).isEqualTo(hour(3));
  }

  @Test
  void forbidSkipsWhileOneRunsAndGoesOnAfterwards() {
    open("overlap: forbid", "");
    advance(Duration.ofHours(1));
    ExecutionId first = executions(1).getFirst().id();
    reaches(first, ExecutionStatus.Running.class);

    advance(Duration.ofHours(1));
    assertThat(cron.find(REPORT).orElseThrow().lastSkip())
        .contains(new Skipped(hour(2), hour(2), 1, "the execution before has not ended"));
    jobs.cancel(first);
    reaches(first, ExecutionStatus.Cancelled.class);
    advance(Duration.ofHours(1));

    assertThat(due(executions(2).getLast())).isEqualTo(hour(3));
    assertThat(memory.events(0, 1000).events())
        .extracting(event -> event.event().kind())
        .contains("cron.triggered", "cron.skipped");
  }

  @Test
  void replaceCancelsTheOneBefore() {
    open("overlap: replace", "");
    advance(Duration.ofHours(1));
    ExecutionId first = executions(1).getFirst().id();
    reaches(first, ExecutionStatus.Running.class);
    advance(Duration.ofHours(1));
    ExecutionId second = executions(2).getLast().id();

    reaches(first, ExecutionStatus.Cancelled.class);
    reaches(second, ExecutionStatus.Running.class);
  }

  @Test
  void queueWaitsForTheOneBeforeAndAllowDoesNot() {
    open("overlap: queue", "");
    advance(Duration.ofHours(1));
    ExecutionId first = executions(1).getFirst().id();
    reaches(first, ExecutionStatus.Running.class);
    advance(Duration.ofHours(1));
    ExecutionId second = executions(2).getLast().id();
    assertThat(jobs.execution(second).status()).isInstanceOf(ExecutionStatus.Pending.class);
    jobs.cancel(first);
    reaches(second, ExecutionStatus.Running.class);

    open("overlap: allow", "");
    advance(Duration.ofHours(1));
    ExecutionId third = executions(3).getLast().id();
    reaches(third, ExecutionStatus.Running.class);
    assertThat(jobs.execution(second).status()).isInstanceOf(ExecutionStatus.Running.class);
  }

  @Test
  void makesUpForWhatWasMissedWhileTheAgentWasDown() {
    open("catch_up: all, catch_up_limit: 2, overlap: allow", "fake.exit: '0'");
    advance(Duration.ofHours(1));
    executions(1);
    cron.close();
    jobs.close();
    clock.advance(Duration.ofMinutes(4 * 60 + 30));

    open("catch_up: all, catch_up_limit: 2, overlap: allow", "fake.exit: '0'");

    assertThat(executions(3))
        .extracting(CronSchedulerTest::due)
        .containsExactly(hour(1), hour(4), hour(5));
    // executions are there before the schedule says what became of the others
    Awaitility.await().until(() -> cron.find(REPORT).orElseThrow().lastSkip().isPresent());
    CronStatus status = cron.find(REPORT).orElseThrow();
    assertThat(status.lastSkip()).contains(new Skipped(hour(2), hour(3), 2, CronPlanner.MISSED));
    assertThat(status.nextDue()).contains(hour(6));
  }

  @Test
  void offMeansOffAndOnDoesNotMakeUpForIt() {
    open("catch_up: all", "fake.exit: '0'");
    cron.disable(REPORT);
    assertThat(cron.find(REPORT).orElseThrow().nextDue()).isEmpty();
    advance(Duration.ofHours(5));
    open("catch_up: all", "fake.exit: '0'");
    assertThat(cron.find(REPORT).orElseThrow().enabled()).as("it is remembered").isFalse();

    ExecutionId byHand = cron.runNow(REPORT, new Trigger.Cli());
    assertThat(jobs.execution(byHand).trigger()).isEqualTo(new Trigger.Cli());
    reaches(byHand, ExecutionStatus.Completed.class); // else the next one would be an overlap
    cron.enable(REPORT);
    assertThat(cron.find(REPORT).orElseThrow().nextDue()).contains(hour(6));
    advance(Duration.ofHours(1));

    assertThat(executions(2)).extracting(Execution::id).startsWith(byHand);
    assertThatThrownBy(() -> cron.disable(Jobs.key("other")))
        .isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> cron.runNow(Jobs.key("other"), new Trigger.Cli()))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void aFailingTriggerIsTriedAgainWithPausesAndRunsOnce() {
    open("", "fake.exit: '0'");
    refusals.set(3);
    clock.advance(Duration.ofHours(1));
    Awaitility.await().until(() -> cron.find(REPORT).orElseThrow().trouble().isPresent());
    int early = refused.get();
    assertThat(jobs.list(REPORT)).isEmpty();
    for (int i = 0; i < 50; i++) {
      cron.wake();
    }
    assertThat(early).as("it does not spin").isLessThanOrEqualTo(2);
    for (int i = 0; i < 5 && jobs.list(REPORT).isEmpty(); i++) {
      clock.advance(Duration.ofSeconds(8));
      Awaitility.await()
          .pollInterval(Duration.ofMillis(2))
          .until(() -> refusals.get() == 0 || refused.get() > early);
    }

    assertThat(due(executions(1).getFirst())).isEqualTo(hour(1));
    Awaitility.await().until(() -> cron.find(REPORT).orElseThrow().trouble().isEmpty());
  }

  @Test
  void aFaultOfOursIsToldAndTheSchedulesGoOn() {
    open("overlap: forbid", "");
    advance(Duration.ofHours(1));
    reaches(executions(1).getFirst().id(), ExecutionStatus.Running.class);

    faults.set(1);
    assertThatThrownBy(() -> cron.disable(REPORT))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("a fault, says the test");
    faults.set(1);
    clock.advance(Duration.ofHours(1));
    Awaitility.await().until(() -> cron.find(REPORT).orElseThrow().trouble().isPresent());
    advance(Duration.ofMinutes(2));

    CronStatus after = cron.find(REPORT).orElseThrow();
    assertThat(after.trouble()).isEmpty();
    assertThat(after.nextRun()).contains(hour(3));
  }

  private static int less(int count) {
    return Math.max(0, count - 1);
  }

  @Test
  void aNewRuleCountsFromNowAndARemovedScheduleIsForgotten() {
    open("catch_up: all", "fake.exit: '0'");
    clock.advance(Duration.ofMinutes(30));
    cron.define(
        Jobs.DEPLOYMENT, Jobs.parse("report: {rtype: cron, schedule: '@every 10m', image: app:1}"));
    assertThat(cron.find(REPORT).orElseThrow().nextDue())
        .contains(FakeClock.START.plus(Duration.ofMinutes(40)));

    cron.define(Jobs.DEPLOYMENT, List.of());

    assertThat(cron.list()).isEmpty();
    assertThat(memory.list(CronState.KIND)).isEmpty();
  }
}

package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.cron.CronScheduler;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A schedule that makes up for everything, under an agent that is killed again and again. */
class CronKillIT {
  private static final int MINUTES = 1500;
  private static final JobKey TICK = Jobs.key("tick");
  private static final List<JobDefinition> JOBS =
      Jobs.parse(
          """
          tick:
            rtype: cron
            schedule: "* * * * *"
            image: app:1
            labels: {fake.exit: "0"}
            cron: {overlap: allow, catch_up: all, catch_up_limit: 10000}
            job: {concurrency: 100, queue: 100000, retention: {age: 10000h, count: 1000000}}
          """);

  @TempDir Path artifacts;
  private final FakeClock clock = new FakeClock();
  private final FakeWorld world = new FakeWorld(clock);
  private final MemoryStateStore store = new MemoryStateStore();
  private Thread.UncaughtExceptionHandler handler;

  @BeforeEach
  void silenceTheKilled() {
    handler = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler(
        (_, thrown) -> {
          if (!(thrown instanceof Mortal.Killed)) {
            thrown.printStackTrace();
          }
        });
  }

  @AfterEach
  void restoreTheHandler() {
    Thread.setDefaultUncaughtExceptionHandler(handler);
  }

  @Test
  void everyOccurrenceHasExactlyOneExecution() throws InterruptedException {
    long seed = Long.getLong("zlayer.seed", new Random().nextLong());
    System.out.println("seed " + seed + " (repeat with -Dzlayer.seed=" + seed + ")");
    var random = new Random(seed);
    int lives = 0;
    // the first life is long enough to remember the schedule
    live(new Mortal(random, Integer.MAX_VALUE, 0), random, 1);
    while (minutes() < MINUTES) {
      live(new Mortal(random, 1 + random.nextInt(400), 0.02), random, 60);
      lives++;
    }
    var last = new Mortal(random, Integer.MAX_VALUE, 0);
    Instant end = clock.instant();
    try (var jobs = JobExecutor.open(parts(last), JobConfig.DEFAULT, JOBS);
        var cron = CronScheduler.open(store, jobs, clock, new Supervisor(), JOBS)) {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(
              () ->
                  cron.find(TICK).orElseThrow().nextDue().orElseThrow().isAfter(end)
                      && jobs.live(TICK).isEmpty());
      check(jobs.list(TICK), end);
    }
    System.out.printf("%d occurrences over %d lives%n", minutes(), lives);
    assertThat(lives).isGreaterThan(10);
  }

  private long minutes() {
    return Duration.between(FakeClock.START, clock.instant()).toMinutes();
  }

  private JobParts parts(Mortal mortal) {
    StateStore seen = mortal.over(store);
    ContainerRuntime runtime = mortal.over(new FakeRuntime(world));
    return new JobParts(
        seen,
        runtime,
        Jobs::container,
        (_, _) -> {},
        artifacts,
        clock,
        _ -> {},
        new Random(),
        new Supervisor());
  }

  private void live(Mortal mortal, Random random, int minutes) {
    try {
      JobParts parts = parts(mortal);
      try (var jobs = JobExecutor.open(parts, JobConfig.DEFAULT, JOBS);
          var cron = CronScheduler.open(parts.store(), jobs, clock, new Supervisor(), JOBS)) {
        for (int i = 0; i < minutes && !mortal.dead(); i++) {
          clock.advance(Duration.ofSeconds(random.nextInt(120)));
          jobs.wake();
          cron.wake();
          Instant now = clock.instant();
          Awaitility.await()
              .pollInterval(Duration.ofMillis(1))
              .until(
                  () ->
                      mortal.dead()
                          || cron.find(TICK).orElseThrow().trouble().isPresent()
                          || cron.find(TICK).orElseThrow().nextRun().orElseThrow().isAfter(now));
        }
      }
    } catch (Mortal.Killed | AgentException _) {
      // while it was opened
    }
    clock.advance(Duration.ofSeconds(random.nextInt(300)));
  }

  private static void check(List<Execution> executions, Instant end) {
    var due = new ArrayList<Instant>();
    for (Execution execution : executions) {
      assertThat(execution.status().text()).isEqualTo("completed(0)");
      due.add(((Trigger.Scheduler) execution.trigger()).due());
    }
    var expected = new ArrayList<Instant>();
    for (Instant t = FakeClock.START.plusSeconds(60); !t.isAfter(end); t = t.plusSeconds(60)) {
      expected.add(t);
    }
    assertThat(due).containsExactlyElementsOf(expected);
  }
}

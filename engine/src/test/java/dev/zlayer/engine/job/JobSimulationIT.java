package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ten worlds with a thousand runs each, with random behaviour, cancels, failing stores and kills of
 * the agent at random calls. Afterwards every run that was accepted must be there once, with the
 * result that its behaviour dictates, and no container may have been started twice.
 */
class JobSimulationIT {
  private static final int WORLDS = 10;
  private static final int RUNS = Integer.getInteger("zlayer.simulated.runs", 1000);
  private static final int ACROSS = 60;
  private static final Duration TIMEOUT = Duration.ofMinutes(1);

  private static final List<JobDefinition> JOBS =
      Jobs.parse(
          """
          once:
            rtype: job
            image: app:1
            job: {concurrency: 20, queue: 100000, retention: {age: 10h, count: 1000000}}
          thrice:
            rtype: job
            image: app:1
            job:
              concurrency: 20
              queue: 100000
              retries: 2
              backoff: {initial: 1ms, max: 3ms}
              exit_codes: {"40-49": fail, "50-59": succeed}
              retention: {age: 10h, count: 1000000}
          """);

  @TempDir Path artifacts;
  private final FakeWorld world = new FakeWorld(InstantSource.system());
  private final MemoryStateStore store = new MemoryStateStore();
  private final Map<Integer, Map<String, String>> behaviours = new HashMap<>();
  private final Map<Integer, ExecutionId> accepted = new HashMap<>();
  private final Set<ExecutionId> cancelled = new HashSet<>();
  private Thread.UncaughtExceptionHandler handler;

  @BeforeEach
  void silenceTheKilled() {
    handler = Mortal.silence();
  }

  @AfterEach
  void restoreTheHandler() {
    Thread.setDefaultUncaughtExceptionHandler(handler);
  }

  @RepeatedTest(WORLDS)
  void noRunIsLostDoubledOrWrong() throws InterruptedException {
    long seed = Long.getLong("zlayer.seed", new Random().nextLong());
    System.out.println("seed " + seed + " (repeat with -Dzlayer.seed=" + seed + ")");
    var random = new Random(seed);
    int kills = 0;
    while (behaviours.size() < RUNS) {
      kills += liveUntilKilled(random);
    }
    finishInPeace();
    System.out.printf(
        "%d runs asked, %d accepted, %d cancelled, %d kills%n",
        behaviours.size(), accepted.size(), cancelled.size(), kills);
    assertThat(kills).isGreaterThan(RUNS / 200);
    assertThat(accepted).hasSizeGreaterThan(RUNS / 2);
  }

  private JobParts parts(dev.zlayer.engine.state.StateStore store, ContainerRuntime runtime) {
    return new JobParts(
        store,
        runtime,
        Jobs::container,
        (_, _) -> {},
        artifacts,
        TimeSource.of(InstantSource.system()),
        Pauses.REAL,
        new Random(),
        new Supervisor());
  }

  private int liveUntilKilled(Random random) throws InterruptedException {
    var mortal = new Mortal(random, 1 + random.nextInt(2000), 0.02);
    try {
      var parts = parts(mortal.over(store), mortal.over(new FakeRuntime(world)));
      try (var executor =
          JobExecutor.open(parts, new JobConfig(30, 100_000, Duration.ofMillis(50)), JOBS)) {
        while (!mortal.dead() && behaviours.size() < RUNS) {
          trigger(executor, random);
          if (random.nextInt(10) == 0) {
            cancelOne(executor, random);
          }
          if (executor.queue().size() > ACROSS) {
            cancelEndless(executor);
            Awaitility.await()
                .dontCatchUncaughtExceptions() // else a kill ends the looking, not the waiting
                .pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofMinutes(1))
                .until(() -> mortal.dead() || executor.queue().size() < ACROSS / 2);
          }
        }
      }
    } catch (Mortal.Killed _) {
      // while it was opened
    }
    return mortal.dead() ? 1 : 0;
  }

  private void trigger(JobExecutor executor, Random random) {
    int run = behaviours.size();
    Map<String, String> behaviour = behaviour(random, run);
    behaviours.put(run, behaviour);
    var request =
        TriggerRequest.of(Jobs.key(random.nextBoolean() ? "once" : "thrice"), new Trigger.Cli())
            .with(Jobs.behaving(behaviour));
    try {
      accepted.put(run, executor.trigger(request));
    } catch (AgentException _) {
      // refused because of the store or the kill: it may or may not have been recorded
    }
  }

  private static Map<String, String> behaviour(Random random, int run) {
    var behaviour = new HashMap<String, String>();
    behaviour.put("log", "run " + run);
    behaviour.put("run", Integer.toString(run));
    if (random.nextInt(20) == 0) {
      behaviour.put("endless", "true");
      if (random.nextBoolean()) {
        behaviour.put("on.TERM", "0");
      }
      return behaviour;
    }
    if (random.nextInt(3) > 0) {
      behaviour.put("after", random.nextInt(8) + "ms");
    }
    switch (random.nextInt(12)) {
      case 0 -> behaviour.put("signal", "SEGV");
      case 1 -> behaviour.put("oom", "true");
      case 2 -> {
        behaviour.put("fail", "start");
        behaviour.put("exit", "0");
      }
      case 3 -> {
        behaviour.put("fail", "create");
        behaviour.put("exit", "0");
      }
      case 4 -> {
        behaviour.put("fail", "remove,stop");
        behaviour.put("fail.times", "2");
        behaviour.put("exit", Integer.toString(random.nextInt(256)));
      }
      default ->
          behaviour.put("exit", Integer.toString(random.nextInt(3) == 0 ? random.nextInt(256) : 0));
    }
    return behaviour;
  }

  private void cancelOne(JobExecutor executor, Random random) {
    List<ExecutionId> ids = new ArrayList<>(accepted.values());
    if (ids.isEmpty()) {
      return;
    }
    ids.sort(null);
    // mostly a recent one, which may still run
    ExecutionId id = ids.get(Math.max(0, ids.size() - 1 - random.nextInt(40)));
    Optional<ExecutionStatus> before = executor.find(id).map(Execution::status);
    try {
      executor.cancel(id);
      cancelled.add(id);
    } catch (AgentException.InvalidSpec e) {
      assertThat(e).hasMessageContaining("has ended already");
    } catch (AgentException _) {
      assertThat(before).as("an accepted run is known").isPresent();
    }
  }

  /** They end in no other way, and would take all places in the end. */
  private void cancelEndless(JobExecutor executor) {
    for (Execution execution : executor.list()) {
      boolean endless = execution.overrides().env().containsKey("fake.endless");
      if (endless && !execution.status().finished()) {
        try {
          executor.cancel(execution.id());
          cancelled.add(execution.id());
        } catch (AgentException _) {
          // ended meanwhile because it was cancelled before, or refused by the store: next time
        }
      }
    }
  }

  private void finishInPeace() throws InterruptedException {
    var parts = parts(store, new FakeRuntime(world));
    try (var executor =
        JobExecutor.open(parts, new JobConfig(30, 100_000, Duration.ofMillis(50)), JOBS)) {
      cancelEndless(executor);
      Deadline deadline = Deadline.after(TIMEOUT);
      for (Execution execution : executor.list()) {
        executor.await(execution.id(), deadline);
      }
      check(executor);
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(() -> assertThat(new FakeRuntime(world).list()).isEmpty());
    }
  }

  private void check(JobExecutor executor) throws InterruptedException {
    Map<String, Long> starts =
        world.journal().stream()
            .filter(line -> line.startsWith("start "))
            .collect(Collectors.groupingBy(line -> line, Collectors.counting()));
    var seen = new HashSet<String>();
    var wrong = new ArrayList<String>();
    for (Execution execution : executor.list()) {
      String run = execution.overrides().env().get("fake.run");
      if (!seen.add(run)) {
        wrong.add("run " + run + " was recorded twice");
      }
      checkOne(executor, execution, starts, wrong);
    }
    accepted.forEach(
        (run, id) -> {
          if (executor.find(id).isEmpty()) {
            wrong.add("run " + run + " was lost");
          }
        });
    assertThat(wrong).isEmpty();
  }

  private void checkOne(
      JobExecutor executor, Execution execution, Map<String, Long> starts, List<String> wrong)
      throws InterruptedException {
    String name = execution.id() + " " + execution.overrides().env() + " " + execution.status();
    for (Attempt attempt : execution.attempts()) {
      long count = starts.getOrDefault("start " + execution.container(attempt.number()).path(), 0L);
      if (count > 1) {
        wrong.add(name + ": attempt " + attempt.number() + " was started " + count + " times");
      }
      if (attempt.finishedAt().isEmpty()) {
        wrong.add(name + ": attempt " + attempt.number() + " has no end");
      }
    }
    if (execution.status() instanceof ExecutionStatus.Cancelled) {
      if (!execution.cancelRequested()) {
        wrong.add(name + ": nobody cancelled it");
      }
      return;
    }
    if (cancelled.contains(execution.id())) {
      wrong.add(name + ": the cancel was overwritten");
      return;
    }
    if (execution.overrides().env().containsKey("fake.endless")) {
      wrong.add(name + ": it can only have been cancelled");
      return;
    }
    boolean thrice = execution.job().name().equals("thrice");
    Expected expected = Expected.of(execution.overrides().env(), thrice);
    if (!expected.matches(execution)) {
      wrong.add(name + ": expected " + expected + " but has " + execution.attempts().size());
    }
    if (expected.ran() && !output(executor, execution).equals(List.of(line(execution)))) {
      wrong.add(name + ": its output is " + output(executor, execution));
    }
  }

  private static String line(Execution execution) {
    return execution.overrides().env().get("fake.log");
  }

  private static List<String> output(JobExecutor executor, Execution execution)
      throws InterruptedException {
    var lines = new ArrayList<String>();
    try (var reader = executor.output(execution.id(), execution.attempts().size(), LogQuery.ALL)) {
      for (Optional<LogRecord> l = reader.next(); l.isPresent(); l = reader.next()) {
        lines.add(l.get().text());
      }
    }
    return lines;
  }

  /** What a behaviour must lead to. */
  private record Expected(boolean completed, Optional<Integer> code, int attempts, boolean ran) {
    static Expected of(Map<String, String> env, boolean thrice) {
      int all = thrice ? 3 : 1;
      String fail = env.getOrDefault("fake.fail", "");
      if (fail.equals("start") || fail.equals("create")) {
        return new Expected(false, Optional.empty(), all, false);
      }
      if (env.containsKey("fake.signal")) {
        return new Expected(false, Optional.of(139), all, true);
      }
      if (env.containsKey("fake.oom")) {
        return new Expected(false, Optional.of(137), all, true);
      }
      int code = Integer.parseInt(env.get("fake.exit"));
      boolean good = code == 0 || (thrice && code >= 50 && code < 60);
      boolean given = thrice && code >= 40 && code < 50;
      return new Expected(good, Optional.of(code), good || given ? 1 : all, true);
    }

    boolean matches(Execution execution) {
      boolean right = execution.status() instanceof ExecutionStatus.Completed == completed;
      Optional<Integer> actual =
          switch (execution.status()) {
            case ExecutionStatus.Completed(int done, _) -> Optional.of(done);
            case ExecutionStatus.Failed(_, var exit) ->
                exit.filter(status -> !(status instanceof ExitStatus.RuntimeError))
                    .map(status -> status.exitCode().orElse(-1));
            default -> Optional.of(-2);
          };
      Instant end = execution.finishedAt().orElseThrow();
      return right
          && actual.equals(code)
          && execution.attempts().size() == attempts
          && !end.isBefore(execution.createdAt());
    }
  }
}

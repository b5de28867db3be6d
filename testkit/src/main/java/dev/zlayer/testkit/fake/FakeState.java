package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;

/** One container of a {@link FakeWorld}; every member needs the world's lock. */
final class FakeState {
  private static final String STDERR = "stderr:";
  private static final Set<String> HARMLESS =
      Set.of(
          "SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU");

  private final FakeWorld world;
  private final ContainerId id;
  private final FakeBehaviour behaviour;
  private final Instant createdAt;
  private final List<LogRecord> log = new ArrayList<>();
  private final Map<String, Integer> failures = new HashMap<>();
  private ContainerSpec spec;
  private String name;
  private ContainerStatus status = new ContainerStatus.Created();
  private Optional<Outcome> lastOutcome = Optional.empty();
  private Instant startedAt = Instant.EPOCH;
  private OptionalLong pid = OptionalLong.empty();
  private Optional<Instant> endsAt = Optional.empty();
  private Optional<Instant> killedAt = Optional.empty();
  private Optional<Instant> pausedAt = Optional.empty();
  private int starts;
  private long exits;

  FakeState(FakeWorld world, ContainerId id, ContainerSpec spec) {
    this.world = world;
    this.id = id;
    this.spec = spec;
    this.name = id.runtimeName();
    this.behaviour = FakeBehaviour.from(spec.labels());
    this.createdAt = world.now();
  }

  /** Whether {@code step} has to fail this time. */
  boolean fails(String step) {
    return behaviour.failing().contains(step)
        && failures.merge(step, 1, Integer::sum) <= behaviour.failTimes();
  }

  void start() {
    if (fails("start")) {
      move(new ContainerStatus.Running(world.now(), OptionalLong.empty()));
      end(new ExitStatus.RuntimeError("the label fake.fail says so"), world.now());
      List<String> lines = log.stream().map(LogRecord::text).toList();
      throw new AgentException.StartFailed(id.toString(), "the label fake.fail says so", lines);
    }
    startedAt = world.now();
    pid = OptionalLong.of(world.nextPid());
    move(new ContainerStatus.Running(startedAt, pid));
    starts++;
    print();
    endsAt = behaviour.ending().map(_ -> startedAt.plus(behaviour.after()));
    settle(startedAt);
  }

  void prepare() {
    move(new ContainerStatus.Prepared(world.now(), OptionalLong.of(world.nextPid())));
  }

  void label(Map<String, String> labels) {
    var all = new HashMap<>(spec.labels());
    all.putAll(labels);
    spec = spec.withLabels(all);
  }

  /** Lines get times a microsecond apart, so that time windows can tell them apart. */
  private void print() {
    for (int i = 0; i < behaviour.log().size(); i++) {
      String line = behaviour.log().get(i);
      boolean error = line.startsWith(STDERR);
      String text = error ? line.substring(STDERR.length()) : line;
      log.add(
          new LogRecord(
              startedAt.plusNanos(i * 1_000L),
              error ? LogRecord.Stream.STDERR : LogRecord.Stream.STDOUT,
              text.getBytes(StandardCharsets.UTF_8),
              false));
    }
  }

  /** Sends the stop signal; SIGKILL follows when the grace is over. */
  void beginStop(Duration grace) {
    if (pausedAt.isPresent()) {
      resume();
    }
    if (status.phase() != ContainerStatus.Phase.STOPPING) {
      move(new ContainerStatus.Stopping(startedAt));
    }
    Instant limit = world.now().plus(grace);
    killedAt = Optional.of(killedAt.filter(earlier -> earlier.isBefore(limit)).orElse(limit));
    signal(spec.stop().signal().orElse(Signal.TERM));
    settle(world.now());
  }

  /** The stopper went away: nobody is there to send SIGKILL. */
  void abandonStop() {
    killedAt = Optional.empty();
  }

  void signal(Signal signal) {
    Optional<Integer> handled = Optional.ofNullable(behaviour.handlers().get(signal));
    boolean deaf = behaviour.ignoreTerm() || HARMLESS.contains(signal.signalName());
    if (signal.equals(Signal.KILL)) {
      end(new ExitStatus.Signalled(signal), world.now());
    } else if (handled.isPresent()) {
      end(new ExitStatus.Code(handled.get()), world.now());
    } else if (!deaf) {
      end(new ExitStatus.Signalled(signal), world.now());
    }
  }

  void pause() {
    pausedAt = Optional.of(world.now());
    move(new ContainerStatus.Paused(startedAt, pid));
  }

  void unpause() {
    resume();
    move(new ContainerStatus.Running(startedAt, pid));
  }

  /** Frozen time does not count. */
  private void resume() {
    Duration frozen = Duration.between(pausedAt.orElseThrow(), world.now());
    endsAt = endsAt.map(time -> time.plus(frozen));
    pausedAt = Optional.empty();
  }

  void remove() {
    if (status.alive()) {
      end(new ExitStatus.Signalled(Signal.KILL), world.now());
    }
    world.containers().remove(id);
    move(new ContainerStatus.Removed());
  }

  /** Does what is due at {@code now}. */
  void settle(Instant now) {
    if (!status.alive() || pausedAt.isPresent()) {
      return;
    }
    if (endsAt.isPresent() && !endsAt.get().isAfter(now)) {
      end(behaviour.ending().orElseThrow(), endsAt.get());
    } else if (killedAt.isPresent() && !killedAt.get().isAfter(now)) {
      end(new ExitStatus.Signalled(Signal.KILL), killedAt.get());
    }
  }

  /** When something is due next. */
  Optional<Instant> next() {
    return pausedAt.isPresent()
        ? Optional.empty()
        : Stream.concat(endsAt.stream(), killedAt.stream()).min(Comparator.naturalOrder());
  }

  private void end(ExitStatus exit, Instant finishedAt) {
    Outcome outcome = new Outcome(exit, Optional.of(startedAt), Optional.of(finishedAt));
    lastOutcome = Optional.of(outcome);
    pid = OptionalLong.empty();
    endsAt = Optional.empty();
    killedAt = Optional.empty();
    pausedAt = Optional.empty();
    exits++;
    move(new ContainerStatus.Exited(outcome));
  }

  private void move(ContainerStatus next) {
    status = status.next(next);
    world.changed();
  }

  void rename(String name) {
    this.name = name;
  }

  void update(Resources resources) {
    spec = spec.withResources(resources);
  }

  /** How the last run ended; for one that never ran nothing is known. */
  Outcome outcome() {
    return lastOutcome.orElseGet(
        () ->
            new Outcome(
                new ExitStatus.Unknown("it has not run"), Optional.empty(), Optional.empty()));
  }

  FakeWorld world() {
    return world;
  }

  ContainerId id() {
    return id;
  }

  ContainerSpec spec() {
    return spec;
  }

  String name() {
    return name;
  }

  ContainerStatus status() {
    return status;
  }

  FakeBehaviour behaviour() {
    return behaviour;
  }

  Instant createdAt() {
    return createdAt;
  }

  List<LogRecord> log() {
    return log;
  }

  OptionalLong pid() {
    return pid;
  }

  int restarts() {
    return Math.max(0, starts - 1);
  }

  long exits() {
    return exits;
  }
}

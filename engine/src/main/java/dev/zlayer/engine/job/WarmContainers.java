package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.engine.job.WarmPlanner.Entry;
import dev.zlayer.engine.job.WarmPlanner.Shape;
import dev.zlayer.engine.job.WarmPlanner.Stage;
import dev.zlayer.engine.job.WarmPlanner.Wanted;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.Container;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Saturating;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Owns the containers of jobs that are made ahead: {@link WarmPlanner} decides, this makes, gives
 * away and removes them. Nothing of it is durable: what an earlier process of the agent left is no
 * container of an execution, and is removed as such.
 */
final class WarmContainers implements Owner.State {
  private static final System.Logger LOG = LazyLogger.of(WarmContainers.class);

  /** How soon a container that is not what its job wants any more is removed unasked. */
  private static final Duration CHECK = Duration.ofSeconds(5);

  private static final Duration PAUSE = Duration.ofSeconds(30);
  private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);
  private static final Duration CLOSING = Duration.ofSeconds(5);

  /** A program that was just let go has the processors first. */
  private static final Duration HEAD_START = Duration.ofMillis(20);

  /** Somebody waits until nothing is left of a deployment. */
  private record Leave(String deployment, CountDownLatch done) {}

  /** A container for an execution. */
  record Taken(long number, Container container) {}

  /** One that is being made; one execution at most waits for it. */
  private record Making(Thread thread, CountDownLatch done, boolean awaited, boolean stopped) {
    Making await() {
      return new Making(thread, done, true, stopped);
    }

    /** It may be waiting for an image. */
    Making stop() {
      if (!stopped) {
        thread.interrupt();
      }
      return new Making(thread, done, awaited, true);
    }
  }

  private final Owner<WarmContainers> owner;
  private final JobParts parts;
  private final WarmPlanner.Limits limits;
  private final WarmStock stock;
  private final boolean able;
  private final Map<JobKey, JobDefinition> definitions = new HashMap<>();
  private final Map<WarmTarget, Wanted> wanted = new HashMap<>();
  private final Set<JobKey> unable = new HashSet<>();
  private final Map<Long, Entry> entries = new HashMap<>();
  private final Map<Long, Container> containers = new HashMap<>();
  private final Map<Long, Making> making = new HashMap<>();
  private final Set<WarmTarget> checking = new HashSet<>();
  private final List<Leave> leaving = new ArrayList<>();
  private Instant nextCheck;
  private long lastNumber;
  private int starting;

  private WarmContainers(
      Owner<WarmContainers> owner,
      JobParts parts,
      WarmPlanner.Limits limits,
      WarmStock stock,
      List<JobDefinition> jobs) {
    this.owner = owner;
    this.parts = parts;
    this.limits = limits;
    this.stock = stock;
    this.able = parts.runtime().capabilities().powers().contains(Preparable.class);
    this.nextCheck = now();
    this.lastNumber = now().toEpochMilli(); // no container of an earlier process has a later one
    define(jobs);
  }

  static Owner<WarmContainers> owner(
      JobParts parts,
      WarmPlanner.Limits limits,
      WarmStock stock,
      Supplier<List<JobDefinition>> jobs) {
    return Owner.of(
        "jobs made ahead",
        parts.clock(),
        parts.supervisor(),
        (owner, _) -> {
          stock.releaseAll(); // what a state that could not go on had is removed like any orphan
          return new WarmContainers(owner, parts, limits, stock, jobs.get());
        });
  }

  private Instant now() {
    return parts.clock().instant();
  }

  /** These are all jobs there are from now on. */
  void define(List<JobDefinition> jobs) {
    Map<JobKey, JobDefinition> before = Map.copyOf(definitions);
    definitions.clear();
    for (JobDefinition job : jobs) {
      if (AheadRule.allows(job) && (able || job.job().ahead() > 0)) {
        definitions.put(job.key(), job);
      }
    }
    Predicate<JobKey> changed = job -> !find(definitions, job).equals(find(before, job));
    unable.removeIf(changed);
    wanted.replaceAll((target, one) -> changed.test(target.job()) ? one.anew(now()) : one);
    nextCheck = now(); // what is there may be as the job wants it, whatever else changed
  }

  private static Optional<JobDefinition> find(Map<JobKey, JobDefinition> jobs, JobKey job) {
    return Optional.ofNullable(jobs.get(job));
  }

  /** Counts what is needed now, as jobs, the queue and schedules say. */
  private void want(Instant now) {
    Map<WarmTarget, Wanted> next =
        WarmDemand.of(definitions, stock.queue(), stock.schedule(), wanted, now);
    next.keySet().removeIf(target -> unable.contains(target.job()));
    wanted.clear();
    wanted.putAll(next);
    making.replaceAll(
        (number, one) -> wanted.containsKey(entry(number).target()) ? one : one.stop());
  }

  private Entry entry(long number) {
    return Objects.requireNonNull(entries.get(number));
  }

  /** Opens once nothing of a deployment waits, is being made or looked at. */
  CountDownLatch left(String deployment) {
    var done = new CountDownLatch(1);
    leaving.add(new Leave(deployment, done));
    return done;
  }

  private boolean here(String deployment) {
    return checking.stream().anyMatch(target -> target.job().deployment().equals(deployment))
        || entries.values().stream()
            .filter(entry -> entry.stage() != Stage.TAKEN)
            .anyMatch(entry -> entry.target().job().deployment().equals(deployment));
  }

  /**
   * What opens when a container that is being made for the like of an execution can be taken, or
   * could not be made; nothing where there is one already, or somebody else waits for it.
   */
  Optional<CountDownLatch> coming(WarmTarget target, Shape shape) {
    noticeTaken();
    if (WarmPlanner.take(entries.values(), target.job(), shape).isPresent()) {
      return Optional.empty();
    }
    return entries.values().stream()
        .filter(entry -> entry.stage() == Stage.MAKING && entry.target().equals(target))
        .map(Entry::number)
        .filter(number -> making.containsKey(number) && !making.get(number).awaited())
        .min(Comparator.naturalOrder())
        .flatMap(
            number -> Optional.ofNullable(making.computeIfPresent(number, (_, one) -> one.await())))
        .map(Making::done);
  }

  /**
   * Gives an execution a container that is exactly what it wants, if there is one; {@link #started}
   * has to follow in either case, and {@link #left} once the container is removed.
   */
  Optional<Taken> take(WarmTarget target, Shape shape) {
    taken(target, shape);
    noticeTaken();
    while (true) {
      Optional<Entry> next = WarmPlanner.take(entries.values(), target.job(), shape);
      if (next.isEmpty() || stock.withdraw(next.get().number())) {
        return next.map(this::taken);
      }
      noticeTaken(); // another execution was faster
    }
  }

  private Taken taken(Entry entry) {
    entries.put(entry.number(), entry.at(Stage.TAKEN));
    return new Taken(entry.number(), Objects.requireNonNull(containers.get(entry.number())));
  }

  /**
   * An execution that is about to be recorded has taken one without asking; {@link #back} follows
   * when it does not begin, else what follows {@link #take}.
   */
  void taken(WarmTarget target, Shape shape) {
    starting++;
    wanted.computeIfPresent(target, (_, one) -> one.with(Optional.of(shape)).usedAt(now()));
  }

  private void noticeTaken() {
    entries.replaceAll(
        (number, entry) ->
            entry.stage() == Stage.READY && !stock.offers(number) ? entry.at(Stage.TAKEN) : entry);
  }

  /** One that was taken was not needed after all, and nothing happened to it. */
  void back(long number) {
    entries.computeIfPresent(number, (_, entry) -> entry.at(Stage.READY));
    offer(number);
    settled();
  }

  private void offer(long number) {
    Optional.ofNullable(entries.get(number)).ifPresent(stock::offer);
  }

  /** Finds out at once whether what is there still is what the jobs want. */
  void reconsider() {
    nextCheck = now();
  }

  /** One that was taken cannot be used. */
  void spoilt(long number) {
    if (containers.containsKey(number)) { // else it was taken from a state that could not go on
      remove(new WarmPlanner.Removal(number, WarmPlanner.Reason.CHANGED));
    }
  }

  /** An execution that asked for a container runs now, or will not. */
  void started() {
    Thread _ =
        owner.spawn(
            "head start",
            () -> {
              parts.pauses().pause(HEAD_START);
              return WarmContainers::settled;
            },
            _ -> WarmContainers::settled);
  }

  private void settled() {
    starting = Math.max(0, starting - 1); // it may have asked a state that could not go on
  }

  /** A container that was taken is removed. */
  void left(long number) {
    Container container = containers.remove(number);
    entries.remove(number);
    if (container != null) {
      stock.release(container.id());
    }
  }

  @Override
  public Duration round() {
    Instant now = now();
    noticeTaken();
    want(now);
    WarmPlanner.Plan plan =
        WarmPlanner.plan(wanted.values(), entries.values(), starting, limits, now);
    plan.remove().forEach(this::drop);
    plan.make().forEach(this::make);
    leaving.removeIf(
        waiting -> {
          boolean gone = !here(waiting.deployment());
          if (gone) {
            waiting.done().countDown();
          }
          return gone;
        });
    boolean anything = !entries.isEmpty();
    if (anything && !now.isBefore(nextCheck)) {
      entries.values().stream().map(Entry::target).distinct().toList().forEach(this::check);
      nextCheck = now.plus(CHECK);
    }
    stock.publish(entries.values());
    Duration wait = plan.next().map(next -> Saturating.between(now, next)).orElse(LONGEST_WAIT);
    Duration most = anything ? Saturating.between(now, nextCheck) : LONGEST_WAIT;
    return wait.compareTo(most) > 0 ? most : wait;
  }

  private void make(WarmTarget target) {
    JobKey job = target.job();
    JobDefinition definition = Objects.requireNonNull(definitions.get(job));
    long number = ++lastNumber;
    ContainerId id = ContainerId.ofPrepared(job.deployment(), job.name(), number);
    stock.hold(id);
    entries.put(number, new Entry(number, target, Stage.MAKING, Optional.empty(), 0));
    Thread thread =
        owner.spawn(
            "prepare " + id,
            () -> made(number, id, definition, target),
            failure -> pool -> pool.failed(number, id, definition, failure));
    making.put(number, new Making(thread, new CountDownLatch(1), false, false));
  }

  private Consumer<WarmContainers> made(
      long number, ContainerId id, JobDefinition definition, WarmTarget target)
      throws InterruptedException {
    ContainerSpec spec = parts.containers().spec(definition, target.overrides());
    var _ =
        parts
            .runtime()
            .images()
            .pull(
                new PullRequest(
                    spec.image(),
                    definition.service().image().pullPolicy(),
                    spec.platform(),
                    Optional.empty()),
                _ -> {});
    Container container = parts.runtime().create(id, spec);
    try {
      if (!(container instanceof Preparable preparable)) {
        throw new AgentException.Unsupported(
            "job.warm: containers of this kind cannot be created ahead; executions are started as"
                + " without it");
      }
      preparable.prepare();
      var shape = new Shape(spec, container.inspect().imageDigest());
      long bytes = container.stats().memoryBytes();
      return pool -> pool.ready(number, shape, bytes, container);
    } catch (RuntimeException e) {
      container.remove(true);
      throw e;
    } catch (InterruptedException e) {
      if (!owner.closing()) {
        Threads.complete(() -> container.remove(true));
      }
      throw e;
    }
  }

  private void ready(long number, Shape shape, long bytes, Container container) {
    entries.computeIfPresent(number, (_, entry) -> entry.made(shape, bytes));
    containers.put(number, container);
    offer(number);
    ended(number);
  }

  private void ended(long number) {
    Making one = making.remove(number);
    if (one != null) {
      one.done().countDown();
    }
  }

  /** Executions continue without; what is wrong will be said by the next that starts. */
  private void failed(long number, ContainerId id, JobDefinition job, AgentException failure) {
    WarmTarget target = entry(number).target();
    entries.remove(number);
    ended(number);
    stock.release(id); // what could not be removed is so like any orphan
    if (!wanted.containsKey(target)) {
      return; // it was told to stop
    }
    boolean unsupported = failure instanceof AgentException.Unsupported;
    if (unsupported && job.job().ahead() == 0) {
      unable.add(job.key());
    }
    Duration pause = unsupported ? limits.unused() : PAUSE;
    wanted.computeIfPresent(target, (_, one) -> one.failed(Saturating.plus(now(), pause)));
    warn(job.key(), failure);
  }

  /** Where nobody asked for it, nothing is missing. */
  private void warn(JobKey job, AgentException failure) {
    JobDefinition known = definitions.get(job);
    LOG.log(
        known == null || known.job().ahead() == 0
            ? System.Logger.Level.DEBUG
            : System.Logger.Level.WARNING,
        "no container of job '%s' is created ahead: %s".formatted(job, failure.getMessage()));
  }

  /** Unless an execution has taken it in the meantime. */
  private void drop(WarmPlanner.Removal removal) {
    if (stock.withdraw(removal.number())) {
      remove(removal);
    }
  }

  private void remove(WarmPlanner.Removal removal) {
    LOG.log(
        System.Logger.Level.DEBUG,
        () -> "prepared container %d goes: %s".formatted(removal.number(), removal.reason()));
    entries.computeIfPresent(removal.number(), (_, entry) -> entry.at(Stage.LEAVING));
    Container container = Objects.requireNonNull(containers.get(removal.number()));
    Thread _ =
        owner.spawn(
            "remove " + container.id(),
            () -> {
              container.remove(true);
              return pool -> pool.left(removal.number());
            },
            // what could not be removed is so like any orphan
            _ -> pool -> pool.left(removal.number()));
  }

  /** Finds out what the containers would be made from now. */
  private void check(WarmTarget target) {
    JobDefinition definition = definitions.get(target.job());
    if (definition == null || !checking.add(target)) {
      return;
    }
    Thread _ =
        owner.spawn(
            "check " + target.job(),
            () -> {
              ContainerSpec spec = parts.containers().spec(definition, target.overrides());
              Optional<Digest> image =
                  parts.runtime().images().find(spec.image()).map(found -> found.info().digest());
              return pool -> pool.checked(target, definition, Optional.of(new Shape(spec, image)));
            },
            failure ->
                pool -> {
                  // for example a secret that is gone: nothing made with it may be used
                  pool.checked(target, definition, Optional.empty());
                  pool.dropAll(target, failure);
                });
  }

  private void checked(WarmTarget target, JobDefinition definition, Optional<Shape> shape) {
    checking.remove(target);
    if (definition.equals(definitions.get(definition.key()))) {
      wanted.computeIfPresent(target, (_, one) -> one.with(shape));
    }
  }

  private void dropAll(WarmTarget target, AgentException failure) {
    for (Entry entry : List.copyOf(entries.values())) {
      if (entry.target().equals(target) && entry.stage() == Stage.READY) {
        drop(new WarmPlanner.Removal(entry.number(), WarmPlanner.Reason.CHANGED));
      }
    }
    wanted.computeIfPresent(target, (_, one) -> one.failed(Saturating.plus(now(), PAUSE)));
    warn(target.job(), failure);
  }

  @Override
  public void clockMoved(Duration by) {
    wanted.replaceAll((_, one) -> one.moved(by));
    nextCheck = Saturating.plus(nextCheck, by);
  }

  /** Takes those that wait away, as far as there is time; the next process removes the rest. */
  @Override
  public void close() {
    boolean _ = Thread.interrupted(); // that is how an owner is told to close
    Deadline deadline = Deadline.after(CLOSING);
    for (Entry entry : entries.values()) {
      Container container = containers.get(entry.number());
      if (container != null && !deadline.passed() && stock.withdraw(entry.number())) {
        try {
          container.remove(true);
        } catch (AgentException _) {
          // the next process removes it
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }
  }
}

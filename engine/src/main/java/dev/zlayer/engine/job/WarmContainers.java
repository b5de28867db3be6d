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
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

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

  /** Somebody waits until nothing is left of a deployment. */
  private record Leave(String deployment, CountDownLatch done) {}

  /** What may be asked from any thread. */
  static final class Stock {
    private final Set<ContainerId> held = ConcurrentHashMap.newKeySet();
    private volatile Set<JobKey> ready = Set.of();

    /** Whether a container is in use here. */
    boolean holds(ContainerId id) {
      return held.contains(id);
    }

    /** Whether something of a job waits, which need not be true any more. */
    boolean has(JobKey job) {
      return ready.contains(job);
    }

    private void publish(Collection<Entry> entries) {
      ready =
          entries.stream()
              .filter(entry -> entry.stage() == Stage.READY)
              .map(Entry::job)
              .collect(Collectors.toUnmodifiableSet());
    }
  }

  /** A container for an execution. */
  record Taken(long number, Container container) {}

  private final Owner<WarmContainers> owner;
  private final JobParts parts;
  private final WarmPlanner.Limits limits;
  private final Stock stock;
  private final Map<JobKey, JobDefinition> definitions = new HashMap<>();
  private final Map<JobKey, Wanted> wanted = new HashMap<>();
  private final Map<Long, Entry> entries = new HashMap<>();
  private final Map<Long, Container> containers = new HashMap<>();
  private final Map<Long, Thread> making = new HashMap<>();
  private final Set<JobKey> checking = new HashSet<>();
  private final List<Leave> leaving = new ArrayList<>();
  private Instant nextCheck;
  private long lastNumber;
  private int starting;

  private WarmContainers(
      Owner<WarmContainers> owner,
      JobParts parts,
      WarmPlanner.Limits limits,
      Stock stock,
      List<JobDefinition> jobs) {
    this.owner = owner;
    this.parts = parts;
    this.limits = limits;
    this.stock = stock;
    this.nextCheck = now();
    this.lastNumber = now().toEpochMilli(); // no container of an earlier process has a later one
    define(jobs);
  }

  static Owner<WarmContainers> owner(
      JobParts parts, WarmPlanner.Limits limits, Stock stock, Supplier<List<JobDefinition>> jobs) {
    return Owner.of(
        "jobs made ahead",
        parts.clock(),
        parts.supervisor(),
        (owner, _) -> {
          stock.held.clear(); // what a state that could not go on had is removed like any orphan
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
      if (job.job().ahead() > 0) {
        definitions.put(job.key(), job);
        if (!job.equals(before.get(job.key()))) {
          wanted.put(
              job.key(),
              new Wanted(job.key(), job.job().ahead(), Optional.empty(), now(), Optional.empty()));
          nextCheck = now(); // what is there may be as the job wants it, whatever else changed
        }
      }
    }
    wanted.keySet().retainAll(definitions.keySet());
    making.forEach(
        (number, thread) -> {
          if (!definitions.containsKey(Objects.requireNonNull(entries.get(number)).job())) {
            thread.interrupt(); // it may be waiting for an image
          }
        });
  }

  /** Opens once nothing of a deployment waits, is being made or looked at. */
  CountDownLatch left(String deployment) {
    var done = new CountDownLatch(1);
    leaving.add(new Leave(deployment, done));
    return done;
  }

  private boolean here(String deployment) {
    return checking.stream().anyMatch(job -> job.deployment().equals(deployment))
        || entries.values().stream()
            .filter(entry -> entry.stage() != Stage.TAKEN)
            .anyMatch(entry -> entry.job().deployment().equals(deployment));
  }

  /**
   * Gives an execution a container that is exactly what it wants, if there is one; {@link #started}
   * has to follow in either case, and {@link #left} once the container is removed.
   *
   * @param usual whether the execution wants what its job says, and nothing else
   */
  Optional<Taken> take(JobKey job, Shape shape, boolean usual) {
    starting++;
    wanted.computeIfPresent(
        job, (_, one) -> (usual ? one.with(Optional.of(shape)) : one).usedAt(now()));
    return WarmPlanner.take(entries.values(), job, shape)
        .map(
            entry -> {
              entries.put(entry.number(), entry.at(Stage.TAKEN));
              return new Taken(
                  entry.number(), Objects.requireNonNull(containers.get(entry.number())));
            });
  }

  /**
   * As {@link #take}, for an execution that is about to be recorded; {@link #back} follows when
   * that does not begin, and nothing when there is none.
   */
  Optional<Taken> offer(JobKey job, Shape shape) {
    Optional<Taken> taken = take(job, shape, true);
    if (taken.isEmpty()) {
      started();
    }
    return taken;
  }

  /** One that was taken was not needed after all, and nothing happened to it. */
  void back(long number) {
    entries.computeIfPresent(number, (_, entry) -> entry.at(Stage.READY));
    started();
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
    starting = Math.max(0, starting - 1); // it may have asked a state that could not go on
  }

  /** A container that was taken is removed. */
  void left(long number) {
    Container container = containers.remove(number);
    entries.remove(number);
    if (container != null) {
      stock.held.remove(container.id());
    }
  }

  @Override
  public Duration round() {
    Instant now = now();
    WarmPlanner.Plan plan =
        WarmPlanner.plan(wanted.values(), entries.values(), starting, limits, now);
    plan.remove().forEach(this::remove);
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
      entries.values().stream().map(Entry::job).distinct().toList().forEach(this::check);
      nextCheck = now.plus(CHECK);
    }
    stock.publish(entries.values());
    Duration wait = plan.next().map(next -> Saturating.between(now, next)).orElse(LONGEST_WAIT);
    Duration most = anything ? Saturating.between(now, nextCheck) : LONGEST_WAIT;
    return wait.compareTo(most) > 0 ? most : wait;
  }

  private void make(JobKey job) {
    JobDefinition definition = Objects.requireNonNull(definitions.get(job));
    long number = ++lastNumber;
    ContainerId id = ContainerId.ofPrepared(job.deployment(), job.name(), number);
    stock.held.add(id);
    entries.put(number, new Entry(number, job, Stage.MAKING, Optional.empty(), 0));
    making.put(
        number,
        owner.spawn(
            "prepare " + id,
            () -> made(number, id, definition),
            failure -> pool -> pool.failed(number, id, definition, failure)));
  }

  private Consumer<WarmContainers> made(long number, ContainerId id, JobDefinition definition)
      throws InterruptedException {
    ContainerSpec spec = parts.containers().spec(definition, Overrides.NONE);
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
    making.remove(number);
    entries.computeIfPresent(number, (_, entry) -> entry.made(shape, bytes));
    containers.put(number, container);
  }

  /** Executions go on without; what is wrong will be said by the next that starts. */
  private void failed(long number, ContainerId id, JobDefinition job, AgentException failure) {
    making.remove(number);
    entries.remove(number);
    stock.held.remove(id); // what could not be removed is so like any orphan
    if (!definitions.containsKey(job.key())) {
      return; // it was told to stop
    }
    Duration pause = failure instanceof AgentException.Unsupported ? limits.unused() : PAUSE;
    wanted.computeIfPresent(job.key(), (_, one) -> one.failed(Saturating.plus(now(), pause)));
    LOG.log(
        System.Logger.Level.WARNING,
        "no container of job '%s' is created ahead: %s".formatted(job.key(), failure.getMessage()));
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

  /** Finds out what the containers of a job would be made from now. */
  private void check(JobKey job) {
    JobDefinition definition = definitions.get(job);
    if (definition == null || !checking.add(job)) {
      return;
    }
    Thread _ =
        owner.spawn(
            "check " + job,
            () -> {
              ContainerSpec spec = parts.containers().spec(definition, Overrides.NONE);
              Optional<Digest> image =
                  parts.runtime().images().find(spec.image()).map(found -> found.info().digest());
              return pool -> pool.checked(definition, Optional.of(new Shape(spec, image)));
            },
            failure ->
                pool -> {
                  // for example a secret that is gone: nothing made with it may be used
                  pool.checked(definition, Optional.empty());
                  pool.dropAll(job, failure);
                });
  }

  private void checked(JobDefinition definition, Optional<Shape> shape) {
    checking.remove(definition.key());
    if (definition.equals(definitions.get(definition.key()))) {
      wanted.computeIfPresent(definition.key(), (_, one) -> one.with(shape));
    }
  }

  private void dropAll(JobKey job, AgentException failure) {
    for (Entry entry : List.copyOf(entries.values())) {
      if (entry.job().equals(job) && entry.stage() == Stage.READY) {
        remove(new WarmPlanner.Removal(entry.number(), WarmPlanner.Reason.CHANGED));
      }
    }
    wanted.computeIfPresent(job, (_, one) -> one.failed(Saturating.plus(now(), PAUSE)));
    LOG.log(
        System.Logger.Level.WARNING,
        "no container of job '%s' is created ahead: %s".formatted(job, failure.getMessage()));
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
      if (entry.stage() == Stage.READY && container != null && !deadline.passed()) {
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

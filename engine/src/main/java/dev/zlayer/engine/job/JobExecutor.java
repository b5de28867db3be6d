package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogQuery;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.Suspect;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Watched;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Runs jobs to their end and knows for certain how they ended. Everything it answers is durable.
 * May be used from any thread; looking never waits for anything under way.
 */
public final class JobExecutor implements AutoCloseable {
  private static final Duration LEAVING = Duration.ofSeconds(10);

  private final JobParts parts;
  private final ExecutionSnapshots view = new ExecutionSnapshots();
  private final Suspect suspect = new Suspect();
  private final Watched<List<JobDefinition>> definitions;
  private final Owner<JobDispatcher> loop;
  private volatile boolean closing;
  private final ArtifactStore artifacts;
  private final JobLogStore logs;
  private final SingleJobs singles;
  private final WarmStock stock = new WarmStock();
  private final Owner<WarmContainers> ahead;

  /** An execution that waits, and how many get their turn before it. */
  public record Queued(int position, Execution execution) {}

  private JobExecutor(JobParts parts, JobConfig config, List<JobDefinition> jobs) {
    this.parts = parts;
    this.artifacts = new ArtifactStore(parts.artifacts());
    this.logs = new JobLogStore(artifacts);
    this.singles = new SingleJobs(parts.store(), parts.clock());
    this.definitions =
        new Watched<>(Stream.concat(jobs.stream(), singles.definitions().stream()).toList());
    this.ahead = WarmContainers.owner(parts, WarmPlanner.Limits.DEFAULT, stock, definitions::now);
    this.loop =
        Owner.of(
            "jobs",
            parts.clock(),
            parts.supervisor(),
            (owner, deaths) -> load(owner, parts, config, deaths));
  }

  /** From what is durable, at the beginning and when the state could not be trusted any more. */
  private JobDispatcher load(
      Owner<JobDispatcher> owner, JobParts parts, JobConfig config, int deaths) {
    suspect
        .quarantine(parts.store(), Ledger.EXECUTIONS, deaths, parts.clock().instant())
        .ifPresent(fatal -> view.publish(new ExecutionId(fatal), Optional.empty()));
    var ledger = new Ledger();
    var machine = new JobStateMachine(config, new ExecutionIds(parts.random()), ledger);
    machine.define(definitions.now());
    List<Execution> stored = stored(parts);
    machine.recover(stored, ExecutionNumbers.load(parts.store(), stored));
    stored.forEach(execution -> view.publish(execution.id(), Optional.of(execution)));
    return new JobDispatcher(
        owner, parts, machine, ledger, view, suspect, ahead, stock, deaths > 0);
  }

  private static List<JobDefinition> of(String deployment, List<JobDefinition> jobs) {
    return jobs.stream().filter(job -> job.key().deployment().equals(deployment)).toList();
  }

  /**
   * Goes on with whatever the store has: waiting executions keep their turn, containers that run or
   * have ended meanwhile are supervised or finished with their true result.
   *
   * @param jobs of all deployments; a waiting execution of a job that is not among them fails
   */
  public static JobExecutor open(JobParts parts, JobConfig config, List<JobDefinition> jobs) {
    var executor = new JobExecutor(parts, config, jobs);
    try {
      executor.loop.start();
      executor.ahead.start();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while the jobs were opened", e);
    }
    return executor;
  }

  private static List<Execution> stored(JobParts parts) {
    return Quarantine.read(
        parts.store(), Ledger.EXECUTIONS, ExecutionCodec::read, parts.clock().instant());
  }

  /**
   * Replaces the jobs of a deployment; runs under way go on as they were begun. Without jobs it
   * returns when no container made ahead is left.
   *
   * @throws AgentException.Timeout that took too long; it goes on
   */
  public void define(String deployment, List<JobDefinition> jobs) {
    List<JobDefinition> _ =
        definitions.update(
            before ->
                Stream.concat(
                        before.stream().filter(job -> !job.key().deployment().equals(deployment)),
                        jobs.stream())
                    .toList());
    boolean _ =
        loop.ask(
            owned -> {
              owned.machine().define(deployment, jobs);
              return true;
            });
    if (jobs.isEmpty()) {
      awaitLeft(
          ahead.ask(
              pool -> {
                pool.define(definitions.now());
                return pool.left(deployment);
              }));
    } else {
      ahead.tell(pool -> pool.define(definitions.now()));
    }
  }

  private static void awaitLeft(CountDownLatch left) {
    try {
      if (!left.await(LEAVING.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AgentException.Timeout("removing containers that were created ahead", LEAVING);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while containers were removed", e);
    }
  }

  /**
   * Takes a job that belongs to no deployment, in place of the one of that name; returns when that
   * is durable. The same file once more changes nothing.
   *
   * @param directory where relative paths of the file start
   * @return whether there was one of that name
   * @throws AgentException.InvalidSpec the file has problems; all are named
   */
  public boolean register(String name, byte[] file, Path directory) {
    requireOpen();
    synchronized (singles) {
      boolean known = singles.put(name, file, directory);
      define(JobKey.NONE, singles.definitions());
      return known;
    }
  }

  /**
   * Forgets a job that belongs to no deployment. What runs goes on, what waits fails, and results
   * are kept as those of all jobs that were removed.
   *
   * @throws AgentException.NotFound there is no such job
   */
  public void unregister(String name) {
    requireOpen();
    synchronized (singles) {
      singles.remove(name);
      define(JobKey.NONE, singles.definitions());
    }
  }

  /** All jobs there are, of deployments and single ones. */
  public List<JobDefinition> definitions() {
    return definitions.now();
  }

  /** Jobs that belong to no deployment. */
  public List<JobDefinition> singles() {
    return of(JobKey.NONE, definitions.now());
  }

  /**
   * Asks for an execution; returns when it is recorded.
   *
   * @throws AgentException.NotFound there is no such job
   * @throws AgentException.Unavailable the executor is shutting down
   * @throws AgentException.Busy its queue is full; nothing was recorded
   */
  public ExecutionId trigger(TriggerRequest request) {
    Optional<Long> offer = offer(request);
    boolean given = false;
    try {
      JobStateMachine.Triggered triggered =
          ask(owned -> owned.machine().trigger(request, offer, owned.now()));
      given = triggered.given();
      return triggered.id();
    } finally {
      if (!given) {
        offer.ifPresent(number -> ahead.tell(pool -> pool.back(number)));
      }
    }
  }

  /**
   * A container made ahead that is exactly what the execution wants. It is found before anything is
   * recorded, on the thread of the caller: so the commit that records the execution also says where
   * it runs, and nothing but the start follows it.
   */
  private Optional<Long> offer(TriggerRequest request) {
    if (closing || !stock.has(request.job()) || !request.overrides().usual()) {
      return Optional.empty();
    }
    return definitions.now().stream()
        .filter(job -> job.key().equals(request.job()) && job.needs().isEmpty())
        .filter(AheadRule::local)
        .findFirst()
        .flatMap(this::offer);
  }

  private Optional<Long> offer(JobDefinition job) {
    try {
      ContainerSpec spec = parts.containers().spec(job, Overrides.NONE);
      var shape =
          new WarmPlanner.Shape(
              spec,
              parts.runtime().images().find(spec.image()).map(found -> found.info().digest()));
      Optional<Long> taken = stock.take(job.key(), shape);
      if (taken.isPresent()) {
        ahead.tell(pool -> pool.taken(WarmTarget.usual(job.key()), shape));
      }
      return taken;
    } catch (AgentException _) {
      return Optional.empty(); // the run says what is wrong, for example with a secret
    }
  }

  /**
   * Ends an execution; returns when that is recorded, which may be before its process has ended.
   * The result will be cancelled, whatever the process does.
   *
   * @throws AgentException.NotFound it is not known
   * @throws AgentException.Conflict it has ended already
   */
  public Execution cancel(ExecutionId id) {
    return ask(owned -> owned.machine().cancel(id, owned.now()));
  }

  private <T> T ask(Owner.Question<JobDispatcher, T> question) {
    requireOpen();
    try {
      return loop.ask(question);
    } catch (AgentException.Internal e) {
      requireOpen(); // it closed while it was asked
      throw e;
    }
  }

  private void requireOpen() {
    if (closing) {
      throw new AgentException.Unavailable(
          "the job executor is shutting down; try again when the agent is back");
    }
  }

  public Optional<Execution> find(ExecutionId id) {
    return view.find(id);
  }

  /** As {@link #find}, but throws {@link AgentException.NotFound}. */
  public Execution execution(ExecutionId id) {
    return find(id)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "execution '" + id + "'", "it never was, or is kept no longer"));
  }

  /** All that are kept, oldest first. */
  public List<Execution> list() {
    return List.copyOf(view.all());
  }

  public List<Execution> list(JobKey job) {
    return view.all().stream().filter(execution -> execution.job().equals(job)).toList();
  }

  /** Executions of a job that have not ended. */
  public List<Execution> live(JobKey job) {
    return list(job).stream().filter(execution -> !execution.status().finished()).toList();
  }

  /** How many are being prepared, run, or upload their files. */
  public int active() {
    return (int) view.all().stream().filter(execution -> execution.status().active()).count();
  }

  /** Those that wait, in the order of their turn. */
  public List<Queued> queue() {
    var queued = new ArrayList<Queued>();
    for (Execution execution : JobQueue.waiting(view.all())) {
      queued.add(new Queued(queued.size(), execution));
    }
    return queued;
  }

  /**
   * Blocks until the execution has ended.
   *
   * @throws AgentException.Timeout the deadline passed first
   */
  public Execution await(ExecutionId id, Deadline deadline) throws InterruptedException {
    return await(id, execution -> execution.status().finished(), deadline);
  }

  /** Blocks until an attempt has output that can be followed, or there will be no such attempt. */
  public Execution awaitOutput(ExecutionId id, int attempt) throws InterruptedException {
    return await(
        id,
        execution ->
            ended(execution, attempt)
                || (execution.attempts().size() == attempt
                    && execution.attempt().runningAt().isPresent()),
        Deadline.none());
  }

  /** Blocks until an attempt has ended, or there will be no such attempt. */
  public Execution awaitAttempt(ExecutionId id, int attempt) throws InterruptedException {
    return await(id, execution -> ended(execution, attempt), Deadline.none());
  }

  private static boolean ended(Execution execution, int attempt) {
    List<Attempt> attempts = execution.attempts();
    return execution.status().finished()
        || attempts.size() > attempt
        || (attempts.size() == attempt && execution.attempt().finishedAt().isPresent());
  }

  private Execution await(ExecutionId id, Predicate<Execution> wanted, Deadline deadline)
      throws InterruptedException {
    Execution _ = execution(id);
    return view.await(id, wanted, deadline)
        .orElseThrow(
            () ->
                new AgentException.Timeout("waiting for execution '" + id + "'", deadline.limit()))
        .orElseGet(() -> execution(id));
  }

  /** The output of an attempt, live or kept; one that is running can be followed. */
  public LogReader output(ExecutionId id, int attempt, LogQuery query) {
    Execution execution = execution(id);
    if (attempt < 1 || attempt > execution.attempts().size()) {
      throw new AgentException.NotFound(
          "attempt %d of execution '%s'".formatted(attempt, id),
          "it has had %d".formatted(execution.attempts().size()));
    }
    Optional<LogReader> live =
        execution.attempts().get(attempt - 1).finishedAt().isPresent()
            ? Optional.empty()
            : live(execution, attempt, query);
    return live.orElseGet(() -> kept(execution, attempt, query));
  }

  /**
   * Removes the larger kept outputs of executions that ended before a time, oldest first; their
   * results and artifacts stay.
   *
   * @param enough asked before each
   * @return the bytes of disk that this freed
   */
  public long reclaimLogs(Instant before, BooleanSupplier enough) {
    long freed = 0;
    for (Execution execution : list()) {
      if (enough.getAsBoolean()) {
        break;
      }
      if (execution.status().finished()
          && execution.finishedAt().filter(end -> end.isBefore(before)).isPresent()) {
        for (Attempt attempt : execution.attempts()) {
          freed += logs.drop(execution.id(), attempt.number());
        }
      }
    }
    return freed;
  }

  private Optional<LogReader> live(Execution execution, int attempt, LogQuery query) {
    try {
      Optional<Container> container = parts.runtime().find(execution.container(attempt));
      return container.map(found -> found.logs(query));
    } catch (AgentException.NotFound _) {
      return Optional.empty();
    }
  }

  private LogReader kept(Execution execution, int attempt, LogQuery query) {
    ExecutionId id = execution.id();
    Optional<byte[]> log = parts.store().find(Ledger.LOGS, Ledger.logKey(id, attempt));
    return logs.open(id, execution.attempts().get(attempt - 1), log, query);
  }

  /** A kept path as a tar archive. */
  public InputStream artifact(ExecutionId id, Attempt.Artifact artifact) {
    return artifacts.open(id, artifact);
  }

  /** A secret or a variable may have changed: containers made ahead with the old one go. */
  public void reconsider() {
    ahead.tell(WarmContainers::reconsider);
  }

  /**
   * These jobs are about to be triggered by their schedules, and no others: their containers may be
   * made now.
   */
  public void expect(Map<JobKey, Instant> runs) {
    if (stock.replace(runs)) {
      ahead.wake();
    }
  }

  /** Looks at the clock again; for clocks that do not go by themselves. */
  public void wake() {
    loop.wake();
    ahead.wake();
  }

  /**
   * Stops deciding; containers go on and are found by the next executor over the same store. Those
   * that were made ahead go.
   */
  @Override
  public void close() {
    closing = true;
    loop.close();
    ahead.close();
  }
}

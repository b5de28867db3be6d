package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.Keys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** The requests about jobs and schedules of a cluster, from any node; each is one transaction. */
public final class ClusterJobs {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final ClusterStore store;
  private final InstantSource clock;
  private final ClusterDeployments deployments;

  public ClusterJobs(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
    this.deployments = new ClusterDeployments(store, clock);
  }

  /**
   * Asks for an execution; returns when a majority has it.
   *
   * @throws AgentException.NotFound the deployment has no such job
   * @throws AgentException.Busy too many of its executions wait
   */
  public ClusterExecution trigger(String deployment, String job, ClusterExecution.Request request)
      throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      ClusterState state = ClusterState.read(store, deadline);
      ServiceSpec spec = spec(state, deployment, job);
      Optional<ClusterExecution> same = repeated(state, deployment, job, request);
      if (same.isPresent()) {
        return same.get();
      }
      requireRoom(state, deployment, job, spec.job());
      Optional<ClusterExecution> made =
          attempt(
              state,
              new Wanted(deployment, job, request, false),
              List.of(),
              List.of(),
              clock.instant(),
              deadline);
      if (made.isPresent()) {
        return made.get();
      }
      deadline.check("asking for an execution of '%s/%s'".formatted(deployment, job));
    }
  }

  /**
   * An execution that is to be made.
   *
   * @param after it waits for the earlier ones of its job
   */
  record Wanted(String deployment, String job, ClusterExecution.Request request, boolean after) {}

  /** Makes it together with these changes; empty when one of the conditions did not hold. */
  Optional<ClusterExecution> attempt(
      ClusterState state,
      Wanted wanted,
      List<Condition> conditions,
      List<Change> changes,
      Instant now,
      Deadline deadline)
      throws InterruptedException {
    String counter = Keys.number(wanted.deployment(), wanted.job());
    Optional<Entry> last = store.find(counter, deadline);
    long number = last.map(entry -> Long.parseLong(entry.value())).orElse(0L) + 1;
    var execution =
        new ClusterExecution(
            ClusterExecution.newId(now, RandomGenerator.getDefault()),
            wanted.deployment(),
            wanted.job(),
            number,
            wanted.request(),
            now,
            wanted.after(),
            Optional.empty(),
            List.of(),
            false,
            Optional.empty());
    var all = new ArrayList<>(conditions);
    all.add(
        last.<Condition>map(entry -> new Condition.Unchanged(counter, entry.modified()))
            .orElseGet(() -> new Condition.Absent(counter)));
    all.add(state.unchanged(Keys.DESIRED + wanted.deployment()));
    var puts = new ArrayList<>(changes);
    puts.add(new Change.Put(counter, Long.toString(number)));
    puts.addAll(execution.changes());
    return store.transact(all, puts, deadline).applied()
        ? Optional.of(execution)
        : Optional.empty();
  }

  /** What a request with the same key has made before. */
  private Optional<ClusterExecution> repeated(
      ClusterState state, String deployment, String job, ClusterExecution.Request request)
      throws InterruptedException {
    if (request.key().isEmpty()) {
      return Optional.empty();
    }
    var known = new ArrayList<>(state.executions(deployment, job));
    known.addAll(results(Keys.results(deployment, job)));
    Optional<ClusterExecution> found =
        known.stream().filter(one -> one.request().key().equals(request.key())).findFirst();
    if (found.isPresent() && !found.get().request().same(request)) {
      throw new AgentException.Conflict(
          "the key of the request was used for another one: choose another key");
    }
    return found;
  }

  /** Throws {@link AgentException.Busy} when too many executions of a job wait. */
  static void requireRoom(ClusterState state, String deployment, String job, JobSpec settings) {
    List<ClusterExecution> live = state.executions(deployment, job);
    long placed = live.stream().filter(one -> one.node().isPresent()).count();
    long waiting = live.size() - placed;
    if (waiting + 1 - Math.max(0, settings.concurrency() - placed) > settings.queue()) {
      throw new AgentException.Busy(
          "the queue of job '%s/%s' is full, %d executions wait: cancel some, try later or raise job.queue"
              .formatted(deployment, job, waiting));
    }
  }

  /** What the newest file says about a job. */
  public ServiceSpec spec(ClusterState state, String deployment, String job)
      throws InterruptedException {
    Desired desired = state.desired().get(deployment);
    ServiceSpec spec =
        desired == null || desired.removing().isPresent()
            ? null
            : deployments.spec(desired).services().get(job);
    if (spec == null || spec.rtype() == RunType.SERVICE) {
      throw new AgentException.NotFound(
          "job '%s/%s'".formatted(deployment, job), "deploy it first");
    }
    return spec;
  }

  /** Ends an execution; its node does so a moment later. */
  public ClusterExecution cancel(ClusterExecution execution) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      Optional<Entry> entry = store.find(execution.key(), deadline);
      if (entry.isEmpty()) {
        return result(execution).orElse(execution);
      }
      ClusterExecution now = ClusterExecution.parse(entry.get().value());
      ClusterExecution next =
          now.node().isPresent()
              ? now.cancelling()
              : now.cancelling()
                  .ended(ClusterExecution.CANCELLED, Optional.empty(), clock.instant());
      boolean done =
          now.cancelled()
              || store
                  .transact(
                      List.of(new Condition.Unchanged(entry.get().key(), entry.get().modified())),
                      next.changes(),
                      deadline)
                  .applied();
      if (done) {
        return next;
      }
    }
  }

  Optional<ClusterExecution> result(ClusterExecution execution) throws InterruptedException {
    return result(execution.deployment(), execution.job(), execution.number());
  }

  /** How an execution ended. */
  public Optional<ClusterExecution> result(String deployment, String job, long number)
      throws InterruptedException {
    return store
        .find(Keys.result(deployment, job, number), Deadline.after(LIMIT))
        .map(entry -> ClusterExecution.parse(entry.value()));
  }

  /** All results that are kept, by deployment and job, oldest first. */
  public List<ClusterExecution> results() throws InterruptedException {
    return results(Keys.RESULTS);
  }

  private List<ClusterExecution> results(String prefix) throws InterruptedException {
    return store.list(prefix, Deadline.after(LIMIT)).entries().stream()
        .map(entry -> ClusterExecution.parse(entry.value()))
        .toList();
  }

  /** Switches a schedule on or off until somebody says otherwise. */
  public void enable(String deployment, String job, boolean on) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    String key = ClusterSchedule.key(deployment, job);
    while (true) {
      ClusterState state = ClusterState.read(store, deadline);
      ServiceSpec spec = spec(state, deployment, job);
      if (spec.rtype() != RunType.CRON) {
        throw new AgentException.NotFound(
            "schedule '%s/%s'".formatted(deployment, job), "it is a job without one");
      }
      Instant now = clock.instant();
      ClusterSchedule next =
          state
              .schedule(deployment, job)
              .orElseGet(() -> ClusterSchedule.fresh(now))
              .byHand(on)
              .settled(spec, now);
      if (store
          .transact(
              List.of(state.unchanged(key), state.unchanged(Keys.DESIRED + deployment)),
              List.of(new Change.Put(key, next.json())),
              deadline)
          .applied()) {
        return;
      }
      deadline.check("changing schedule '%s/%s'".formatted(deployment, job));
    }
  }
}

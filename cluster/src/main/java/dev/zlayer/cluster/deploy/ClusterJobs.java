package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;

/** The requests about jobs and schedules of a cluster, from any node; each is one transaction. */
public final class ClusterJobs {
  /** As many executions are made in one transaction at most; each is some of its changes. */
  static final int MOST_TOGETHER = 30;

  /** All nodes have what waits in memory, and the ends of 50 executions of each job are kept. */
  static final int MOST_REQUEST_BYTES = 64 << 10;

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
   * @throws AgentException.InvalidSpec its arguments and variables are too large
   * @throws AgentException.Busy too many of its executions wait
   */
  public ClusterExecution trigger(String deployment, String job, ClusterExecution.Request request)
      throws InterruptedException {
    int bytes = request.bytes();
    if (bytes > MOST_REQUEST_BYTES) {
      throw new AgentException.InvalidSpec(
          "the arguments and variables of this execution have %d bytes; a cluster stores at most %d,"
                  .formatted(bytes, MOST_REQUEST_BYTES)
              + " so put what is large into a file or a bucket");
    }
    Deadline deadline = Deadline.after(LIMIT);
    var tried = new HashSet<String>();
    while (true) {
      ClusterState state = ClusterState.read(store, deadline);
      if (!tried.isEmpty()) {
        Optional<ClusterExecution> own =
            known(state, deployment, job).stream()
                .filter(one -> tried.contains(one.id()))
                .findFirst();
        if (own.isPresent()) {
          return own.get(); // nobody had answered
        }
      }
      DeploymentSpec file = file(state, deployment, job);
      ServiceSpec _ = job(file, deployment, job);
      Optional<ClusterExecution> same = repeated(state, deployment, job, request);
      if (same.isPresent()) {
        return same.get();
      }
      Map<String, List<String>> needs = needs(file, job);
      for (String one : needs.keySet()) {
        requireRoom(state, deployment, one, job(file, deployment, one).job());
      }
      Optional<ClusterExecution> made =
          attempt(
              state,
              new Wanted(deployment, job, request, false, needs),
              List.of(),
              _ -> List.of(),
              clock.instant(),
              deadline,
              (asked, all, puts, limit) -> {
                tried.add(asked.id());
                return new RetriedChange(store).made(all, puts, limit);
              });
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
   * @param needs the jobs that it needs, directly or not, with what each of them needs; every one
   *     behind those
   */
  record Wanted(
      String deployment,
      String job,
      ClusterExecution.Request request,
      boolean after,
      Map<String, List<String>> needs) {}

  /** The needs of a job, for {@link Wanted}; a file with circles does not get here. */
  static Map<String, List<String>> needs(DeploymentSpec file, String job) {
    var needs = new LinkedHashMap<String, List<String>>();
    visit(file, job, needs);
    return needs;
  }

  private static void visit(DeploymentSpec file, String job, Map<String, List<String>> needs) {
    ServiceSpec spec = file.services().get(job);
    if (spec == null || needs.containsKey(job)) {
      return;
    }
    spec.job().needs().forEach(needed -> visit(file, needed, needs));
    needs.put(job, spec.job().needs());
  }

  /**
   * Makes it, and before it one of each job that it needs, together with these changes; empty when
   * one of the conditions did not hold.
   *
   * @param changes given its number
   */
  Optional<ClusterExecution> attempt(
      ClusterState state,
      Wanted wanted,
      List<Condition> conditions,
      LongFunction<List<Change>> changes,
      Instant now,
      Deadline deadline)
      throws InterruptedException {
    return attempt(
        state,
        wanted,
        conditions,
        changes,
        now,
        deadline,
        (_, all, puts, limit) -> store.transact(all, puts, limit).applied());
  }

  /** One transaction; true when it was made. */
  @FunctionalInterface
  private interface Transaction {
    boolean made(
        ClusterExecution asked, List<Condition> conditions, List<Change> changes, Deadline limit)
        throws InterruptedException;
  }

  private Optional<ClusterExecution> attempt(
      ClusterState state,
      Wanted wanted,
      List<Condition> conditions,
      LongFunction<List<Change>> changes,
      Instant now,
      Deadline deadline,
      Transaction transaction)
      throws InterruptedException {
    var all = new ArrayList<>(conditions);
    all.add(state.unchanged(StoreKeys.DESIRED + wanted.deployment()));
    var puts = new ArrayList<Change>();
    var made = new HashMap<String, ClusterExecution.Need>();
    for (Map.Entry<String, List<String>> one : wanted.needs().entrySet()) {
      if (!one.getKey().equals(wanted.job())) {
        ClusterExecution _ =
            make(
                wanted,
                one.getKey(),
                ClusterExecution.Request.internal(wanted.request().priority()),
                one.getValue(),
                made,
                all,
                puts,
                now,
                deadline);
      }
    }
    ClusterExecution asked =
        make(
            wanted,
            wanted.job(),
            wanted.request(),
            wanted.needs().getOrDefault(wanted.job(), List.of()),
            made,
            all,
            puts,
            now,
            deadline);
    puts.addAll(changes.apply(asked.number()));
    return transaction.made(asked, all, puts, deadline) ? Optional.of(asked) : Optional.empty();
  }

  private ClusterExecution make(
      Wanted wanted,
      String job,
      ClusterExecution.Request request,
      List<String> needs,
      Map<String, ClusterExecution.Need> made,
      List<Condition> conditions,
      List<Change> puts,
      Instant now,
      Deadline deadline)
      throws InterruptedException {
    String counter = StoreKeys.number(wanted.deployment(), job);
    Optional<Entry> last = store.find(counter, deadline);
    long number = last.map(entry -> Long.parseLong(entry.value())).orElse(0L) + 1;
    ClusterExecution execution =
        ClusterExecution.fresh(
            wanted.deployment(),
            job,
            number,
            request,
            wanted.after() && job.equals(wanted.job()),
            needs.stream().flatMap(name -> Optional.ofNullable(made.get(name)).stream()).toList(),
            now);
    made.put(job, new ClusterExecution.Need(job, number));
    conditions.add(
        last.<Condition>map(entry -> new Condition.Unchanged(counter, entry.modified()))
            .orElseGet(() -> new Condition.Absent(counter)));
    puts.add(new Change.Put(counter, Long.toString(number)));
    puts.addAll(execution.changes());
    return execution;
  }

  /** What a request with the same key has made before. */
  private Optional<ClusterExecution> repeated(
      ClusterState state, String deployment, String job, ClusterExecution.Request request)
      throws InterruptedException {
    if (request.key().isEmpty()) {
      return Optional.empty();
    }
    Optional<ClusterExecution> found =
        known(state, deployment, job).stream()
            .filter(one -> one.request().key().equals(request.key()))
            .findFirst();
    if (found.isPresent() && !found.get().request().same(request)) {
      throw new AgentException.Conflict(
          "the key of the request was used for another one: choose another key");
    }
    return found;
  }

  /** Those that have not ended, and the results that are kept. */
  private List<ClusterExecution> known(ClusterState state, String deployment, String job)
      throws InterruptedException {
    var known = new ArrayList<>(state.executions(deployment, job));
    known.addAll(results(StoreKeys.results(deployment, job)));
    return known;
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
    return job(file(state, deployment, job), deployment, job);
  }

  private DeploymentSpec file(ClusterState state, String deployment, String job)
      throws InterruptedException {
    Desired desired = state.desired().get(deployment);
    if (desired == null || desired.removing().isPresent()) {
      throw unknown(deployment, job);
    }
    return deployments.spec(desired);
  }

  private static ServiceSpec job(DeploymentSpec file, String deployment, String job) {
    ServiceSpec spec = file.services().get(job);
    if (spec == null || spec.rtype() == RunType.SERVICE) {
      throw unknown(deployment, job);
    }
    return spec;
  }

  private static AgentException unknown(String deployment, String job) {
    return new AgentException.NotFound("job '%s/%s'".formatted(deployment, job), "deploy it first");
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
        .find(StoreKeys.result(deployment, job, number), Deadline.after(LIMIT))
        .map(entry -> ClusterExecution.parse(entry.value()));
  }

  /** All results that are kept, by deployment and job, oldest first. */
  public List<ClusterExecution> results() throws InterruptedException {
    return results(StoreKeys.RESULTS);
  }

  private List<ClusterExecution> results(String prefix) throws InterruptedException {
    return store.list(prefix, Deadline.after(LIMIT)).entries().stream()
        .flatMap(entry -> ClusterExecution.readable(entry.value()).stream())
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
              List.of(state.unchanged(key), state.unchanged(StoreKeys.DESIRED + deployment)),
              List.of(new Change.Put(key, next.json())),
              deadline)
          .applied()) {
        return;
      }
      deadline.check("changing schedule '%s/%s'".formatted(deployment, job));
    }
  }
}

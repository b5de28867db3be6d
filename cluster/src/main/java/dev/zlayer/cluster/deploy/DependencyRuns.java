package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.depend.DependencyCheck;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Runs the jobs for which services wait, for the leader: once for what a job is, when what it
 * depends on is there. The execution and the record of it are one transaction, so a leader that
 * repeats itself runs nothing twice.
 */
final class DependencyRuns {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final ClusterStore store;
  private final InstantSource clock;
  private final ClusterJobs jobs;

  DependencyRuns(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
    this.jobs = new ClusterJobs(store, clock);
  }

  /** One step of each job that has one to make; the next round makes the next. */
  void follow(ClusterState state, ClusterPlan.Files files, JobPlan.Ends ends, Election.Term term)
      throws InterruptedException {
    for (Desired desired : state.desired().values()) {
      Optional<DeploymentSpec> spec = files.find(desired.name(), desired.revision());
      if (spec.isPresent() && desired.removing().isEmpty()) {
        for (String job : Dependencies.awaitedJobs(spec.get())) {
          step(state, desired, spec.get(), job, ends, term);
        }
      }
    }
  }

  private void step(
      ClusterState state,
      Desired desired,
      DeploymentSpec spec,
      String name,
      JobPlan.Ends ends,
      Election.Term term)
      throws InterruptedException {
    ServiceSpec job = Objects.requireNonNull(spec.services().get(name));
    String hash = DependencyRun.hash(job);
    Optional<DependencyRun> before = state.dependency(desired.name(), name);
    if (before.filter(run -> run.completed(hash)).isPresent()) {
      return;
    }
    if (before.filter(run -> run.about(hash) && run.open()).isPresent()) {
      ended(state, desired.name(), name, before.get(), ends, term);
    } else if (before.filter(run -> run.stays(hash, desired.revision())).isEmpty()
        && Dependencies.of(state, desired, spec).judge(name, clock.instant())
            instanceof DependencyCheck.Verdict.Open) {
      begin(state, desired, spec, name, before, term);
    }
  }

  private void ended(
      ClusterState state,
      String deployment,
      String name,
      DependencyRun run,
      JobPlan.Ends ends,
      Election.Term term)
      throws InterruptedException {
    var need = new ClusterExecution.Need(name, run.number());
    Optional<Progress> end =
        state.executions().containsKey(need.live(deployment))
            ? Optional.empty()
            : ends.find(deployment, need);
    if (end.isEmpty()) {
      return;
    }
    DependencyRun next =
        end.get().status().equals(ClusterExecution.COMPLETED)
            ? run.complete()
            : run.fail(end.get().reason().orElseGet(() -> end.get().text()));
    String key = DependencyRun.key(deployment, name);
    var _ =
        store.transact(
            List.of(term.condition(), state.unchanged(key)),
            List.of(new Change.Put(key, next.json())),
            Deadline.after(LIMIT));
  }

  private void begin(
      ClusterState state,
      Desired desired,
      DeploymentSpec spec,
      String name,
      Optional<DependencyRun> before,
      Election.Term term)
      throws InterruptedException {
    ServiceSpec job = Objects.requireNonNull(spec.services().get(name));
    String key = DependencyRun.key(desired.name(), name);
    var wanted =
        new ClusterJobs.Wanted(
            desired.name(),
            name,
            ClusterExecution.Request.internal(job.job().priority()),
            false,
            ClusterJobs.needs(spec, name));
    List<Condition> conditions = List.of(term.condition(), state.unchanged(key));
    var _ =
        jobs.attempt(
            state,
            wanted,
            conditions,
            number ->
                List.of(
                    new Change.Put(
                        key,
                        DependencyRun.begun(
                                before, desired.revision(), DependencyRun.hash(job), number)
                            .json())),
            clock.instant(),
            Deadline.after(LIMIT));
  }
}

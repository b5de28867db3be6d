package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.error.AgentException;
import dev.zlayer.schedule.CronPlanner;
import dev.zlayer.schedule.Skipped;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Starts what is due, for the leader. The execution and the place that the schedule has come to are
 * one transaction, compared with both the leader and the schedule: a leader that was replaced, and
 * one that repeats itself, start nothing.
 */
final class Schedules {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** As many executions are replaced by one at most; each is a change of the transaction. */
  private static final int MOST_REPLACED = 30;

  private final ClusterStore store;
  private final InstantSource clock;
  private final ClusterJobs jobs;

  Schedules(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
    this.jobs = new ClusterJobs(store, clock);
  }

  /** One step of each schedule that has one to make; the next round makes the next. */
  void start(ClusterState state, ClusterPlan.Files files, Election.Term term)
      throws InterruptedException {
    for (Desired desired : state.desired().values()) {
      Optional<DeploymentSpec> spec = files.find(desired.name(), desired.revision());
      if (spec.isPresent() && desired.removing().isEmpty()) {
        for (Map.Entry<String, ServiceSpec> one : spec.get().services().entrySet()) {
          if (one.getValue().rtype() == RunType.CRON) {
            step(
                new Due(
                    desired.name(),
                    one.getKey(),
                    one.getValue(),
                    ClusterJobs.needs(spec.get(), one.getKey())),
                state,
                term);
          }
        }
      }
    }
  }

  /** One schedule. */
  private record Due(
      String deployment, String job, ServiceSpec spec, Map<String, List<String>> needs) {
    String key() {
      return ClusterSchedule.key(deployment, job);
    }

    String name() {
      return deployment + "/" + job;
    }
  }

  private void step(Due due, ClusterState state, Election.Term term) throws InterruptedException {
    Instant now = clock.instant();
    Optional<ClusterSchedule> before = state.schedule(due.deployment(), due.job());
    ClusterSchedule schedule =
        before.orElseGet(() -> ClusterSchedule.fresh(now)).settled(due.spec(), now);
    if (!before.equals(Optional.of(schedule))) {
      put(due, schedule, state, term);
      return;
    }
    if (!schedule.enabled(due.spec())) {
      return;
    }
    List<ClusterExecution> live = state.executions(due.deployment(), due.job());
    List<CronPlanner.Step> steps =
        CronPlanner.plan(
            due.name(),
            ClusterSchedule.times(due.spec()),
            due.spec().cron(),
            schedule.anchor(),
            Instant.EPOCH,
            !live.isEmpty(),
            now);
    if (steps.isEmpty()) {
      return;
    }
    switch (steps.getFirst()) {
      case CronPlanner.Step.Skip(var skipped) -> put(due, schedule.skipped(skipped), state, term);
      case CronPlanner.Step.Run run -> {
        try {
          ClusterJobs.requireRoom(state, due.deployment(), due.job(), due.spec().job());
          run(due, run, schedule.ran(run.due(), now), live, state, term);
        } catch (AgentException.Busy e) {
          String reason = String.valueOf(e.getMessage());
          put(due, schedule.skipped(new Skipped(run.due(), run.due(), 1, reason)), state, term);
        }
      }
    }
  }

  private void put(Due due, ClusterSchedule next, ClusterState state, Election.Term term)
      throws InterruptedException {
    var _ =
        store.transact(
            List.of(term.condition(), state.unchanged(due.key())),
            List.of(new Change.Put(due.key(), next.json())),
            Deadline.after(LIMIT));
  }

  private void run(
      Due due,
      CronPlanner.Step.Run run,
      ClusterSchedule next,
      List<ClusterExecution> live,
      ClusterState state,
      Election.Term term)
      throws InterruptedException {
    var conditions = new ArrayList<Condition>();
    conditions.add(term.condition());
    conditions.add(state.unchanged(due.key()));
    var changes = new ArrayList<Change>();
    changes.add(new Change.Put(due.key(), next.json()));
    if (run.before() == CronPlanner.Before.CANCEL) {
      for (ClusterExecution one :
          Leader.parts(live, one -> one.json().length()).stream()
              .findFirst()
              .map(part -> part.subList(0, Math.min(part.size(), MOST_REPLACED)))
              .orElse(List.of())) {
        conditions.add(state.unchanged(one.key()));
        changes.addAll(one.cancelling().changes());
      }
    }
    var wanted =
        new ClusterJobs.Wanted(
            due.deployment(),
            due.job(),
            ClusterExecution.Request.scheduled(run.due(), due.spec().job().priority()),
            run.before() != CronPlanner.Before.NOTHING,
            due.needs());
    var _ =
        jobs.attempt(
            state, wanted, conditions, _ -> changes, clock.instant(), Deadline.after(LIMIT));
  }
}

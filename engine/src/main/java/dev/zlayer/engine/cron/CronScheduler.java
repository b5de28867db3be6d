package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.Suspect;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.RunType;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.task.Watched;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Triggers jobs by their schedules, which one owner has. That an occurrence has been dealt with
 * becomes durable together with its execution, so it is run once, whenever the agent is killed.
 */
public final class CronScheduler implements AutoCloseable {
  private final JobExecutor jobs;
  private final Watched<List<JobDefinition>> definitions;
  private final CronView view = new CronView();
  private final Owner<CronTable> owner;

  private final Suspect suspect = new Suspect();

  private CronScheduler(
      StateStore store,
      JobExecutor jobs,
      TimeSource clock,
      Supervisor supervisor,
      List<JobDefinition> definitions) {
    this.jobs = jobs;
    this.definitions = new Watched<>(schedules(definitions));
    this.owner =
        Owner.of(
            "schedules",
            clock,
            supervisor,
            (_, deaths) -> {
              suspect.quarantine(store, CronState.KIND, deaths, clock.instant());
              return new CronTable(store, jobs, clock, view, this.definitions.now(), suspect);
            });
  }

  /** Goes on with what the store remembers; occurrences that were missed are made up for. */
  public static CronScheduler open(
      StateStore store,
      JobExecutor jobs,
      TimeSource clock,
      Supervisor supervisor,
      List<JobDefinition> definitions) {
    var cron = new CronScheduler(store, jobs, clock, supervisor, definitions);
    try {
      cron.owner.start();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while the schedules were opened", e);
    }
    return cron;
  }

  private static List<JobDefinition> schedules(List<JobDefinition> definitions) {
    return definitions.stream().filter(job -> job.service().rtype() == RunType.CRON).toList();
  }

  /** Replaces the schedules of a deployment; those whose rule stays keep their memory. */
  public void define(String deployment, List<JobDefinition> changed) {
    List<JobDefinition> wanted = schedules(changed);
    boolean _ =
        owner.ask(
            table -> {
              table.define(deployment, wanted);
              return true;
            });
    List<JobDefinition> _ =
        definitions.update(
            before ->
                Stream.concat(
                        before.stream().filter(job -> !job.key().deployment().equals(deployment)),
                        wanted.stream())
                    .toList());
  }

  public List<CronStatus> list() {
    return view.list();
  }

  public Optional<CronStatus> find(JobKey job) {
    return view.find(job);
  }

  /** Switches a schedule on; what was due meanwhile does not count. */
  public void enable(JobKey job) {
    change(job, true, "cron.enabled");
  }

  /** Switches a schedule off until somebody switches it on; executions under way go on. */
  public void disable(JobKey job) {
    change(job, false, "cron.disabled");
  }

  private void change(JobKey job, boolean on, String kind) {
    boolean _ =
        owner.ask(
            table -> {
              table.byHand(job, on, kind);
              return true;
            });
  }

  /** Runs the job at once, on or off, whatever else runs; the schedule is not affected. */
  public ExecutionId runNow(JobKey job, Trigger by) {
    if (find(job).isEmpty()) {
      throw CronTable.unknown(job);
    }
    return jobs.trigger(TriggerRequest.of(job, by));
  }

  /** Looks at the clock again; for clocks that do not go by themselves. */
  public void wake() {
    owner.wake();
  }

  @Override
  public void close() {
    owner.close();
  }
}

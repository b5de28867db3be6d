package dev.zlayer.engine.cron;

import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.Suspect;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.schedule.CronPlanner;
import dev.zlayer.schedule.Skipped;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Saturating;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** All schedules in the hands of their owner. */
final class CronTable implements Owner.State {
  private static final System.Logger LOG = LazyLogger.of(CronTable.class);

  /** A clock that was moved is noticed after this time. */
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(20);

  /** So long before its time the container of a run may be made. */
  private static final Duration AHEAD = Duration.ofSeconds(5);

  private final StateStore store;
  private final JobExecutor jobs;
  private final TimeSource clock;
  private final CronView view;
  private final Suspect suspect;
  private final NavigableMap<JobKey, CronEntry> entries = new TreeMap<>();

  /** Since when the agent is there. */
  private Instant present;

  CronTable(
      StateStore store,
      JobExecutor jobs,
      TimeSource clock,
      CronView view,
      List<JobDefinition> definitions,
      Suspect suspect) {
    this.store = store;
    this.jobs = jobs;
    this.clock = clock;
    this.view = view;
    this.suspect = suspect;
    this.present = clock.instant();
    List<Change.Write> writes = new ArrayList<>();
    for (JobDefinition definition : definitions) {
      CronEntry entry = settled(definition);
      entries.put(definition.key(), entry);
      writes.add(put(entry.state()));
    }
    store.commit(new Change(writes, List.of()));
    view.publish(entries);
  }

  /** One that can be read and not be used is put aside as one that cannot be read. */
  private CronEntry settled(JobDefinition definition) {
    Instant now = clock.instant();
    CronEntry entry = remembered(definition);
    try {
      return entry.settled(now);
    } catch (AgentException e) {
      throw e;
    } catch (RuntimeException e) {
      String key = definition.key().toString();
      store
          .find(CronState.KIND, key)
          .ifPresent(
              stored ->
                  Quarantine.putFatal(
                      store, CronState.KIND, new StateStore.Entry(key, stored), e, now));
      return CronEntry.of(definition, CronState.fresh(definition.key(), "", now)).settled(now);
    }
  }

  private CronEntry remembered(JobDefinition definition) {
    String key = definition.key().toString();
    Optional<byte[]> stored = store.find(CronState.KIND, key);
    CronState fresh = CronState.fresh(definition.key(), "", present);
    if (stored.isEmpty()) {
      return CronEntry.of(definition, fresh);
    }
    try {
      return CronEntry.of(definition, CronState.read(stored.get()));
    } catch (RuntimeException e) {
      Quarantine.put(
          store, CronState.KIND, new StateStore.Entry(key, stored.get()), e, clock.instant());
      return CronEntry.of(definition, fresh);
    }
  }

  /** Replaces the schedules of a deployment. */
  void define(String deployment, List<JobDefinition> wanted) {
    List<Change.Write> writes = new ArrayList<>();
    var changed = new TreeMap<>(entries);
    changed.keySet().removeIf(key -> key.deployment().equals(deployment));
    for (JobDefinition definition : wanted) {
      CronEntry entry = settled(definition);
      changed.put(definition.key(), entry);
      writes.add(put(entry.state()));
    }
    entries.keySet().stream()
        .filter(key -> !changed.containsKey(key))
        .forEach(key -> writes.add(new Change.Delete(CronState.KIND, key.toString())));
    store.commit(new Change(writes, List.of()));
    entries.clear();
    entries.putAll(changed);
  }

  /** Somebody switches a schedule on or off. */
  void byHand(JobKey job, boolean on, String kind) {
    CronEntry entry = entries.get(job);
    if (entry == null) {
      throw unknown(job);
    }
    CronEntry changed = entry.with(entry.state().byHand(on)).settled(clock.instant());
    var event = new Event(clock.instant(), kind, job.toString(), Json.object().build());
    store.commit(new Change(List.of(put(changed.state())), List.of(event)));
    entries.put(job, changed);
  }

  static AgentException.NotFound unknown(JobKey job) {
    return new AgentException.NotFound("schedule '" + job + "'", "deploy it first");
  }

  @Override
  public Duration round() {
    Instant now = clock.instant();
    entries.replaceAll((_, entry) -> guarded(entry, now));
    view.publish(entries);
    jobs.expect(soon(now));
    Duration wait = LONGEST_WAIT;
    for (CronEntry entry : entries.values()) {
      Duration until =
          entry.nextLook().map(look -> Saturating.between(now, look)).orElse(LONGEST_WAIT);
      until = until.compareTo(AHEAD) > 0 ? until.minus(AHEAD) : until;
      wait = until.compareTo(wait) < 0 ? until : wait;
    }
    return wait;
  }

  /** Those whose time has almost come, and which will begin then as far as anybody knows now. */
  private Map<JobKey, Instant> soon(Instant now) {
    var soon = new TreeMap<JobKey, Instant>();
    for (CronEntry entry : entries.values()) {
      entry
          .nextRun()
          .filter(run -> run.isAfter(now) && !run.isAfter(Saturating.plus(now, AHEAD)))
          .filter(_ -> begins(entry))
          .ifPresent(run -> soon.put(entry.job(), run));
    }
    return soon;
  }

  private boolean begins(CronEntry entry) {
    boolean alone =
        switch (entry.settings().overlap()) {
          case ALLOW, REPLACE -> false;
          case FORBID, QUEUE -> true;
        };
    return entry.trouble().isEmpty()
        && entry.definition().job().needs().isEmpty()
        && (!alone || jobs.live(entry.job()).isEmpty());
  }

  /** One schedule's trouble must not end the others; one that cannot even be asked is set aside. */
  private CronEntry guarded(CronEntry entry, Instant now) {
    try {
      boolean due = entry.nextLook().map(look -> !look.isAfter(now)).orElse(false);
      CronEntry handled =
          due ? suspect.with(entry.job().toString(), () -> handled(entry, now)) : entry;
      Optional<Instant> _ = handled.nextLook();
      Object _ = handled.status();
      return handled;
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "schedule " + entry.job() + " is set aside", e);
      return entry.setAside("a fault of the agent: " + e);
    }
  }

  /** What was asked and not made durable has changed nothing. */
  @Override
  public boolean undo() {
    return true;
  }

  @Override
  public void clockMoved(Duration by) {
    present = Saturating.plus(present, by);
    Instant now = clock.instant();
    entries.replaceAll((_, entry) -> entry.clockMoved(by, now));
  }

  /** Deals with all that is due of one schedule; stops at the first that fails. */
  private CronEntry handled(CronEntry entry, Instant now) {
    CronEntry current = entry;
    try {
      List<CronPlanner.Step> steps =
          CronPlanner.plan(
              entry.job().toString(),
              entry.schedule(),
              entry.settings(),
              entry.state().anchor(),
              present,
              !jobs.live(entry.job()).isEmpty(),
              now);
      for (CronPlanner.Step step : steps) {
        current =
            switch (step) {
              case CronPlanner.Step.Skip(Skipped skipped) -> skip(current, skipped, now);
              case CronPlanner.Step.Run run -> trigger(current, run, now);
            };
      }
      return current;
    } catch (AgentException e) {
      return current.failed(String.valueOf(e.getMessage()), now);
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "a fault with schedule " + entry.job(), e);
      return current.failed("a fault of the agent: " + e, now);
    }
  }

  private CronEntry skip(CronEntry entry, Skipped skipped, Instant now) {
    CronState state = entry.state().skipped(skipped);
    var event = new Event(now, "cron.skipped", state.key(), skipped.json());
    store.commit(new Change(List.of(put(state)), List.of(event)));
    return entry.with(state);
  }

  /** A request that is refused is skipped; anything else is tried again later. */
  private CronEntry trigger(CronEntry entry, CronPlanner.Step.Run run, Instant now) {
    CronState state = entry.state().ran(run.due(), now);
    var event =
        new Event(now, "cron.triggered", state.key(), Json.object().put("due", run.due()).build());
    try {
      List<ExecutionId> earlier =
          run.before() == CronPlanner.Before.NOTHING
              ? List.of()
              : jobs.live(entry.job()).stream().map(Execution::id).toList();
      if (run.before() == CronPlanner.Before.CANCEL) {
        earlier.forEach(this::cancel);
      }
      ExecutionId _ =
          jobs.trigger(
              TriggerRequest.of(entry.job(), new Trigger.Scheduler(run.due()))
                  .following(earlier)
                  .alongside(new Change(List.of(put(state)), List.of(event))));
      return entry.with(state);
    } catch (AgentException e) {
      if (e.blame() != Blame.REQUEST && !(e instanceof AgentException.Busy)) {
        throw e;
      }
      String reason = String.valueOf(e.getMessage());
      return skip(entry, new Skipped(run.due(), run.due(), 1, reason), now);
    }
  }

  private void cancel(ExecutionId id) {
    try {
      Execution _ = jobs.cancel(id);
    } catch (AgentException.Conflict | AgentException.NotFound _) {
      // it has ended meanwhile, which is what is wanted
    }
  }

  private static Change.Put put(CronState state) {
    return new Change.Put(CronState.KIND, state.key(), state.write());
  }
}

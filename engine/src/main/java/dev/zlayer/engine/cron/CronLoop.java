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
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.spec.RunType;
import dev.zlayer.task.Reply;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Triggers jobs by their schedules. One virtual thread owns all schedules. That an occurrence has
 * been dealt with becomes durable together with its execution, so it is run once, whenever the
 * agent is killed.
 */
public final class CronLoop implements AutoCloseable {
  /** A clock that was moved is noticed after this time. */
  private static final System.Logger LOG = System.getLogger(CronLoop.class.getName());

  private static final Duration LONGEST_WAIT = Duration.ofSeconds(20);

  private record Letter(Runnable work, Reply<Boolean> reply) {}

  private final StateStore store;
  private final JobExecutor jobs;
  private final InstantSource clock;
  private final Instant present;
  private final NavigableMap<JobKey, CronEntry> entries = new TreeMap<>();
  private final BlockingQueue<Letter> mailbox = new LinkedBlockingQueue<>();
  private final Thread thread;
  private volatile Map<JobKey, CronStatus> view = Map.of();
  private volatile boolean closing;

  private CronLoop(
      StateStore store, JobExecutor jobs, InstantSource clock, List<JobDefinition> definitions) {
    this.store = store;
    this.jobs = jobs;
    this.clock = clock;
    this.present = clock.instant();
    List<Change.Write> writes = new ArrayList<>();
    for (JobDefinition definition : schedules(definitions)) {
      CronEntry entry = remembered(definition).settled(present);
      entries.put(definition.key(), entry);
      writes.add(put(entry.state()));
    }
    store.commit(new Change(writes, List.of()));
    publish();
    this.thread = Thread.ofVirtual().name("cron").unstarted(this::run);
  }

  /** Goes on with what the store remembers; occurrences that were missed are made up for. */
  public static CronLoop open(
      StateStore store, JobExecutor jobs, InstantSource clock, List<JobDefinition> definitions) {
    var loop = new CronLoop(store, jobs, clock, definitions);
    loop.thread.start();
    return loop;
  }

  private static List<JobDefinition> schedules(List<JobDefinition> definitions) {
    return definitions.stream().filter(job -> job.service().rtype() == RunType.CRON).toList();
  }

  private CronEntry remembered(JobDefinition definition) {
    CronState state =
        store
            .find(CronState.KIND, definition.key().toString())
            .map(CronState::read)
            .orElseGet(() -> CronState.fresh(definition.key(), "", present));
    return CronEntry.of(definition, state);
  }

  /** Replaces the schedules of a deployment; those whose rule stays keep their memory. */
  public void define(String deployment, List<JobDefinition> definitions) {
    ask(
        () -> {
          List<JobDefinition> wanted = schedules(definitions);
          List<Change.Write> writes = new ArrayList<>();
          var changed = new TreeMap<>(entries);
          changed.keySet().removeIf(key -> key.deployment().equals(deployment));
          for (JobDefinition definition : wanted) {
            CronEntry entry = remembered(definition).settled(clock.instant());
            changed.put(definition.key(), entry);
            writes.add(put(entry.state()));
          }
          entries.keySet().stream()
              .filter(key -> !changed.containsKey(key))
              .forEach(key -> writes.add(new Change.Delete(CronState.KIND, key.toString())));
          store.commit(new Change(writes, List.of()));
          entries.clear();
          entries.putAll(changed);
        });
  }

  public List<CronStatus> list() {
    return List.copyOf(view.values());
  }

  public Optional<CronStatus> find(JobKey job) {
    return Optional.ofNullable(view.get(job));
  }

  /** Switches a schedule on; what was due meanwhile does not count. */
  public void enable(JobKey job) {
    change(job, entry -> entry.with(entry.state().byHand(true)), "cron.enabled");
  }

  /** Switches a schedule off until somebody switches it on; executions under way go on. */
  public void disable(JobKey job) {
    change(job, entry -> entry.with(entry.state().byHand(false)), "cron.disabled");
  }

  /** Runs the job at once, on or off, whatever else runs; the schedule is not affected. */
  public ExecutionId runNow(JobKey job, Trigger by) {
    if (find(job).isEmpty()) {
      throw unknown(job);
    }
    return jobs.trigger(TriggerRequest.of(job, by));
  }

  /** Looks at the clock again; for clocks that do not go by themselves. */
  public void wake() {
    mailbox.add(new Letter(() -> {}, new Reply<>()));
  }

  @Override
  public void close() {
    closing = true;
    wake();
    Threads.join(thread);
  }

  private void change(JobKey job, UnaryOperator<CronEntry> change, String kind) {
    ask(
        () -> {
          CronEntry entry = entries.get(job);
          if (entry == null) {
            throw unknown(job);
          }
          CronEntry changed = change.apply(entry).settled(clock.instant());
          var event = new Event(clock.instant(), kind, job.toString(), Json.object().build());
          store.commit(new Change(List.of(put(changed.state())), List.of(event)));
          entries.put(job, changed);
        });
  }

  private static AgentException.NotFound unknown(JobKey job) {
    return new AgentException.NotFound("schedule '" + job + "'", "deploy it first");
  }

  private void ask(Runnable work) {
    var letter = new Letter(work, new Reply<>());
    mailbox.add(letter);
    if (closing && mailbox.remove(letter)) {
      letter.reply().fail(closed());
    }
    boolean _ = letter.reply().awaitUninterruptibly();
  }

  private void run() {
    try {
      while (!closing) {
        Instant now = clock.instant();
        entries.replaceAll((_, entry) -> due(entry, now) ? handled(entry, now) : entry);
        publish();
        serve(mailbox.poll(untilNextLook(now).toNanos(), TimeUnit.NANOSECONDS));
      }
    } catch (InterruptedException _) {
      // nobody interrupts this thread; if somebody does, it ends as if closed
    } finally {
      closing = true;
      refuse();
    }
  }

  private void serve(@org.jspecify.annotations.Nullable Letter letter) {
    if (letter == null) {
      return;
    }
    try {
      letter.work().run();
      publish();
      letter.reply().complete(true);
    } catch (AgentException e) {
      letter.reply().fail(e);
    } catch (RuntimeException e) {
      letter.reply().fail(fault(e)); // what was asked for did not happen; the schedules go on
    } catch (Error e) {
      // nobody may wait for an answer that will not come
      letter.reply().fail(fault(e));
      throw e;
    }
  }

  private static boolean due(CronEntry entry, Instant now) {
    return entry.nextLook().map(look -> !look.isAfter(now)).orElse(false);
  }

  private Duration untilNextLook(Instant now) {
    return entries.values().stream()
        .flatMap(entry -> entry.nextLook().stream())
        .min(Instant::compareTo)
        .map(next -> Duration.between(now, next))
        .filter(wait -> wait.compareTo(LONGEST_WAIT) < 0)
        .map(wait -> wait.isNegative() ? Duration.ZERO : wait)
        .orElse(LONGEST_WAIT);
  }

  /** Deals with all that is due of one schedule; stops at the first that fails. */
  private CronEntry handled(CronEntry entry, Instant now) {
    CronEntry current = entry;
    try {
      List<CronPlanner.Step> steps =
          CronPlanner.plan(
              entry.job(),
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
      // one schedule's trouble must not end the others
      return current.failed(String.valueOf(fault(e).getMessage()), now);
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

  private void publish() {
    var fresh = new TreeMap<JobKey, CronStatus>();
    entries.forEach((key, entry) -> fresh.put(key, entry.status()));
    view = Collections.unmodifiableMap(fresh);
  }

  private void refuse() {
    Stream.generate(mailbox::poll)
        .takeWhile(letter -> letter != null)
        .forEach(letter -> letter.reply().fail(closed()));
  }

  private static AgentException.Internal fault(Throwable cause) {
    LOG.log(System.Logger.Level.ERROR, "a fault in the schedules", cause);
    return new AgentException.Internal("a fault in the schedules: " + cause, cause);
  }

  private static AgentException.Internal closed() {
    return new AgentException.Internal("the schedules are closed");
  }
}

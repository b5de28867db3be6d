package dev.zlayer.engine.job;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;

/**
 * The executions of a book with their counts, and what was changed since the last time that was
 * accepted. Owned by one thread.
 */
final class Ledger {
  static final String EXECUTIONS = "job.execution";
  static final String LOGS = "job.log";

  private final NavigableMap<ExecutionId, Execution> all = new TreeMap<>();
  private final NavigableMap<ExecutionId, Execution> open = new TreeMap<>();
  private final NavigableSet<Execution> waiting = new TreeSet<>(JobQueue.ORDER);
  private final Map<JobKey, Integer> waitingByJob = new HashMap<>();
  private final Map<JobKey, Integer> activeByJob = new HashMap<>();
  private final Map<JobKey, Kept> keptByJob = new HashMap<>();
  private final Map<ExecutionId, Execution> active = new LinkedHashMap<>();
  private ExecutionNumbers numbers = new ExecutionNumbers();

  private final Map<ExecutionId, Optional<Execution>> before = new LinkedHashMap<>();
  private final List<Change.Write> writes = new ArrayList<>();
  private final List<Event> events = new ArrayList<>();
  private final List<JobEffect> effects = new ArrayList<>();

  /** How many results of a job there are, and their size. */
  record Kept(int count, long bytes) {
    private static final Kept NONE = new Kept(0, 0);
  }

  void load(List<Execution> stored, ExecutionNumbers numbers) {
    stored.forEach(this::set);
    this.numbers = numbers;
  }

  Optional<Execution> find(ExecutionId id) {
    return Optional.ofNullable(all.get(id));
  }

  /** Not finished, in the order they were asked for. */
  List<Execution> open() {
    return List.copyOf(open.values());
  }

  Collection<Execution> waiting() {
    return waiting;
  }

  int waiting(JobKey job) {
    return waitingByJob.getOrDefault(job, 0);
  }

  int active() {
    return active.size();
  }

  /** Those that take one of the places that limits count. */
  Collection<Execution> activeOnes() {
    return active.values();
  }

  int active(JobKey job) {
    return activeByJob.getOrDefault(job, 0);
  }

  Kept kept(JobKey job) {
    return keptByJob.getOrDefault(job, Kept.NONE);
  }

  /** What is not known any more has ended long ago. */
  boolean ended(ExecutionId id) {
    return !open.containsKey(id);
  }

  long nextNumber(JobKey job) {
    return numbers.next(job);
  }

  /** A number that was given elsewhere; none of this node is smaller from now on. */
  long takeNumber(JobKey job, long number) {
    return numbers.take(job, number);
  }

  void put(Execution execution) {
    before.putIfAbsent(execution.id(), find(execution.id()));
    set(execution);
  }

  void note(Event event) {
    events.add(event);
  }

  void then(JobEffect effect) {
    effects.add(effect);
  }

  void alongside(Change change) {
    writes.addAll(change.writes());
    events.addAll(change.events());
  }

  void keepLog(ExecutionId id, int attempt, byte[] log) {
    writes.add(new Change.Put(LOGS, logKey(id, attempt), log));
  }

  static String logKey(ExecutionId id, int attempt) {
    return "%s/%04d".formatted(id, attempt);
  }

  Map<JobKey, List<Execution>> finishedByJob() {
    var byJob = new TreeMap<JobKey, List<Execution>>();
    for (Execution execution : all.values()) {
      if (execution.status().finished()) {
        byJob.computeIfAbsent(execution.job(), _ -> new ArrayList<>()).add(execution);
      }
    }
    return byJob;
  }

  /** Drops what {@code expired} chooses, except what an open execution still asks about. */
  void drop(
      Map<JobKey, List<Execution>> finished,
      BiFunction<JobKey, List<Execution>, List<Execution>> expired) {
    Set<ExecutionId> asked = new HashSet<>();
    open.values().forEach(execution -> asked.addAll(execution.needs()));
    finished.forEach(
        (job, executions) ->
            expired.apply(job, executions).stream()
                .filter(execution -> !asked.contains(execution.id()))
                .forEach(this::remove));
  }

  private void remove(Execution execution) {
    before.putIfAbsent(execution.id(), find(execution.id()));
    unset(execution.id());
    for (Attempt attempt : execution.attempts()) {
      writes.add(new Change.Delete(LOGS, logKey(execution.id(), attempt.number())));
    }
    effects.add(new JobEffect.Discard(execution.id()));
  }

  /** All that has to become durable now. */
  Change change() {
    var change = new ArrayList<>(writes);
    for (ExecutionId id : before.keySet()) {
      Optional<Execution> now = find(id);
      change.add(
          now.isPresent()
              ? new Change.Put(EXECUTIONS, id.text(), ExecutionCodec.write(now.get()))
              : new Change.Delete(EXECUTIONS, id.text()));
    }
    change.addAll(numbers.writes());
    return new Change(change, events);
  }

  /** It is durable: returns the changed executions for {@code published} and what is to be done. */
  List<JobEffect> accept(
      java.util.function.BiConsumer<ExecutionId, Optional<Execution>> published) {
    before.keySet().forEach(id -> published.accept(id, find(id)));
    List<JobEffect> todo = List.copyOf(effects);
    numbers.accept();
    clear();
    return todo;
  }

  /** It could not be made durable: as if it had never been decided. */
  void forget() {
    before.forEach(
        (id, old) -> {
          unset(id);
          old.ifPresent(this::set);
        });
    numbers.forget();
    clear();
  }

  private void clear() {
    before.clear();
    writes.clear();
    events.clear();
    effects.clear();
  }

  private void set(Execution execution) {
    unset(execution.id());
    all.put(execution.id(), execution);
    if (!execution.status().finished()) {
      open.put(execution.id(), execution);
    }
    count(execution, 1);
  }

  private void unset(ExecutionId id) {
    Execution old = all.remove(id);
    if (old != null) {
      open.remove(id);
      count(old, -1);
    }
  }

  private void count(Execution execution, int by) {
    if (execution.status().active()) {
      if (by > 0) {
        active.put(execution.id(), execution);
      } else {
        active.remove(execution.id());
      }
      activeByJob.merge(execution.job(), by, Integer::sum);
    } else if (execution.status() instanceof ExecutionStatus.Pending) {
      waitingByJob.merge(execution.job(), by, Integer::sum);
      if (by > 0) {
        waiting.add(execution);
      } else {
        waiting.remove(execution);
      }
    } else {
      Kept kept = kept(execution.job());
      var next = new Kept(kept.count() + by, kept.bytes() + by * execution.bytes());
      if (next.count() == 0) {
        keptByJob.remove(execution.job());
      } else {
        keptByJob.put(execution.job(), next);
      }
    }
  }
}

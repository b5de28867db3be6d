package dev.zlayer.daemon.metrics;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Reads what becomes durable from now on, counts it, and tells it to the log: jobs by their result,
 * restarts, deployments. So whoever makes something happen need not know of figures or logs.
 */
public final class EventMetrics implements Owner.State {
  private static final int PAGE = 500;
  private static final Set<String> ENDS = Set.of("job.completed", "job.failed", "job.cancelled");

  /** Steps on the way; the log reports ends. */
  private static final Set<String> MINOR =
      Set.of("job.pending", "job.initializing", "job.running", "job.uploading", "job.step");

  private final StateStore store;
  private final Function<ExecutionId, Optional<Execution>> executions;
  private final Metrics metrics;
  private final Log log;
  private long from;

  private EventMetrics(
      StateStore store,
      Function<ExecutionId, Optional<Execution>> executions,
      Metrics metrics,
      Log log) {
    this.store = store;
    this.executions = executions;
    this.metrics = metrics;
    this.log = log;
    this.from = newest(store);
  }

  public static Owner<EventMetrics> open(
      StateStore store,
      Function<ExecutionId, Optional<Execution>> executions,
      Metrics metrics,
      TimeSource time,
      Supervisor supervisor,
      Log log)
      throws InterruptedException {
    return Owner.of(
            "event meter",
            time,
            supervisor,
            (Owner<EventMetrics> _, int _) -> new EventMetrics(store, executions, metrics, log))
        .start();
  }

  /** An empty commit tells the number of the last event. */
  private static long newest(StateStore store) {
    return store.commit(new Change(List.of(), List.of()));
  }

  /** A store that fails is asked again after a pause. */
  @Override
  public Duration round() throws InterruptedException {
    if (store.awaitEvent(from, Deadline.none())) {
      EventPage page = store.events(from, PAGE);
      from = page.last();
      for (EventPage.Numbered numbered : page.events()) {
        try {
          count(numbered.event());
        } catch (RuntimeException e) {
          log.error("an event is not counted", e, Map.of("event", numbered.sequence()));
        }
      }
    }
    return Duration.ZERO;
  }

  private void count(Event event) {
    metrics.count("zlayer_events_total", "What happened, by kind.", Map.of("kind", event.kind()));
    log.write(
        MINOR.contains(event.kind()) ? Log.Level.DEBUG : Log.Level.INFO,
        event.kind(),
        Map.of("subject", event.subject()));
    if (ENDS.contains(event.kind())) {
      String result = event.kind().substring("job.".length());
      metrics.count("zlayer_jobs_total", "Executions that ended.", Map.of("result", result));
      executions
          .apply(new ExecutionId(event.subject()))
          .flatMap(EventMetrics::took)
          .ifPresent(
              duration ->
                  metrics.took(
                      "zlayer_job_seconds",
                      "How long executions took from leaving the queue to their end.",
                      Map.of("result", result),
                      duration));
    }
  }

  private static Optional<Duration> took(Execution execution) {
    return execution
        .finishedAt()
        .flatMap(end -> execution.startedAt().map(start -> Duration.between(start, end)));
  }
}

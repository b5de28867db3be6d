package dev.zlayer.engine.deployment;

import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Takes one deployment away: services, runs of its jobs, schedules, network, volumes, and last what
 * is remembered of it. Every step can be done again, so a kill in between is made up for by the
 * next start.
 */
final class DeploymentRemoval implements Owner.State {
  private static final System.Logger LOG = LazyLogger.of(DeploymentRemoval.class);
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(200), Duration.ofSeconds(30), 2);

  /** After so many failures in a row whoever waits is given the reason; about six seconds. */
  private static final int STUCK = 5;

  /** How long services and runs are waited for before whoever waits is told of them. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final DeploymentParts parts;
  private final DeploymentStore store;
  private final LiveDeployment live;
  private final Watched<Long> changes;
  private final Consumer<String> done;
  private String told = "";
  private int tries;
  private boolean finished;

  private DeploymentRemoval(
      DeploymentParts parts,
      DeploymentStore store,
      LiveDeployment live,
      Watched<Long> changes,
      Consumer<String> done) {
    this.parts = parts;
    this.store = store;
    this.live = live;
    this.changes = changes;
    this.done = done;
  }

  /** Begins at once, and goes on until it is done or closed. */
  static Owner<DeploymentRemoval> start(
      DeploymentParts parts,
      DeploymentStore store,
      LiveDeployment live,
      Watched<Long> changes,
      Consumer<String> done) {
    try {
      return Owner.of(
              "removal of " + live.record().name(),
              parts.clock(),
              parts.supervisor(),
              (Owner<DeploymentRemoval> _, int _) ->
                  new DeploymentRemoval(parts, store, live, changes, done))
          .start();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while a removal began", e);
    }
  }

  @Override
  public Duration round() throws InterruptedException {
    String name = live.record().name();
    try {
      parts.cron().define(name, List.of());
      endRuns(name);
      long _ = changes.await(_ -> live.empty(), Deadline.after(PATIENCE), "waiting for services");
      remove(name);
    } catch (RuntimeException e) {
      Optional<AgentException> unfinished =
          e instanceof AgentException.Timeout ? unfinished(name) : Optional.empty();
      if (unfinished.isPresent()) {
        // a process may have minutes to end: that is no failure, and its end is noticed at once
        delayed(unfinished.get(), false);
        return Duration.ZERO;
      }
      delayed(
          e instanceof AgentException ours ? ours : new AgentException.Internal(e.toString(), e),
          ++tries >= STUCK);
      return RETRY_BACKOFF.delay(tries - 1);
    }
    done.accept(name);
    finished = true;
    return Duration.ZERO;
  }

  @Override
  public boolean done() {
    return finished;
  }

  private void remove(String name) throws InterruptedException {
    parts.jobs().define(name, List.of());
    parts.networks().remove(name);
    if (live.record().volumes()) {
      parts.volumes().remove(name, volumes(name));
    }
    forget(name);
  }

  /** Names the services and runs that have not ended; empty when all have. */
  private Optional<AgentException> unfinished(String name) {
    String all =
        Stream.concat(
                live.services().keySet().stream().sorted(),
                running(name).stream().map(Execution::name))
            .collect(Collectors.joining(", "));
    return all.isEmpty()
        ? Optional.empty()
        : Optional.of(new AgentException.Busy("not ended yet: " + all));
  }

  /** An event once for each reason: whoever waits for the end must learn what it waits for. */
  private void delayed(AgentException cause, boolean stuck) {
    String reason = String.valueOf(cause.getMessage());
    live.removalDelayed(cause, stuck, parts.clock().instant());
    if (reason.equals(told)) {
      return;
    }
    var detail = Json.object().put("reason", reason).build();
    var event =
        new Event(
            parts.clock().instant(), "deployment.removal_delayed", live.record().name(), detail);
    try {
      parts.store().commit(new Change(List.of(), List.of(event)));
      told = reason;
    } catch (AgentException e) {
      LOG.log(System.Logger.Level.WARNING, "not removed yet: " + reason, e);
    }
  }

  private void endRuns(String name) throws InterruptedException {
    JobExecutor jobs = parts.jobs();
    List<Execution> running = running(name);
    Deadline deadline = Deadline.after(PATIENCE);
    for (Execution run : running) {
      try {
        Execution _ = jobs.cancel(run.id());
      } catch (AgentException.Conflict | AgentException.NotFound _) {
        // it has ended meanwhile
      }
    }
    for (Execution run : running) {
      Execution _ = jobs.await(run.id(), deadline);
    }
  }

  private List<Execution> running(String name) {
    return parts.jobs().list().stream()
        .filter(run -> run.job().deployment().equals(name) && !run.status().finished())
        .toList();
  }

  /** All that any kept revision named. */
  private List<String> volumes(String name) {
    return store.revisions(name).stream()
        .flatMap(revision -> named(revision).stream())
        .distinct()
        .toList();
  }

  private static List<String> named(Revision revision) {
    try {
      return DeploymentFile.read(revision).services().values().stream()
          .flatMap(service -> service.storage().stream())
          .flatMap(
              storage ->
                  storage instanceof StorageSpec.Named volume
                      ? Stream.of(volume.name())
                      : Stream.empty())
          .toList();
    } catch (AgentException _) {
      return List.of();
    }
  }

  private void forget(String name) {
    List<Change.Write> writes = new ArrayList<>();
    for (long number : store.revisionNumbers(name)) {
      writes.add(
          new Change.Delete(
              DeploymentRecord.REVISIONS, DeploymentRecord.revisionKey(name, number)));
    }
    live.spec().stream()
        .flatMap(spec -> DeploymentStore.jobs(spec).stream())
        .forEach(
            job -> writes.add(new Change.Delete(DependencyJobRecord.KIND, job.key().toString())));
    writes.add(new Change.Delete(DeploymentRecord.KIND, name));
    var event =
        new Event(parts.clock().instant(), "deployment.removed", name, Json.object().build());
    parts.store().commit(new Change(writes, List.of(event)));
  }
}

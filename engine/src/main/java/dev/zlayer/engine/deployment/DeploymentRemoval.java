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
import dev.zlayer.task.Owner;
import dev.zlayer.task.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Takes one deployment away: services, runs of its jobs, schedules, network, volumes, and last what
 * is remembered of it. Every step can be done again, so a kill in between is made up for by the
 * next start.
 */
final class DeploymentRemoval implements Owner.State {
  private static final System.Logger LOG = System.getLogger(DeploymentRemoval.class.getName());
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(200), Duration.ofSeconds(30), 2);

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
    if (!removed()) {
      return RETRY_BACKOFF.delay(tries++);
    }
    done.accept(live.record().name());
    finished = true;
    return Duration.ZERO;
  }

  @Override
  public boolean done() {
    return finished;
  }

  private boolean removed() throws InterruptedException {
    String name = live.record().name();
    try {
      parts.cron().define(name, List.of());
      endRuns(name);
      long _ = changes.await(_ -> live.empty(), Deadline.none(), "waiting for services to end");
      parts.jobs().define(name, List.of());
      parts.networks().remove(name);
      if (live.record().volumes()) {
        parts.volumes().remove(name, volumes(name));
      }
      forget(name);
      return true;
    } catch (RuntimeException e) {
      tell(e instanceof AgentException ? String.valueOf(e.getMessage()) : e.toString());
      return false; // tried again after a pause
    }
  }

  /** Once for each reason: whoever waits for the end must learn what it waits for. */
  private void tell(String reason) {
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
    List<Execution> running =
        jobs.list().stream()
            .filter(run -> run.job().deployment().equals(name) && !run.status().finished())
            .toList();
    for (Execution run : running) {
      try {
        Execution _ = jobs.cancel(run.id());
      } catch (AgentException.Conflict | AgentException.NotFound _) {
        // it has ended meanwhile
      }
    }
    for (Execution run : running) {
      Execution _ = jobs.await(run.id(), Deadline.none());
    }
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
      return DeploymentFile.read(Optional.empty(), revision.bytes()).services().values().stream()
          .flatMap(service -> service.storage().stream())
          .flatMap(
              storage ->
                  storage instanceof StorageSpec.Named volume
                      ? java.util.stream.Stream.of(volume.name())
                      : java.util.stream.Stream.empty())
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

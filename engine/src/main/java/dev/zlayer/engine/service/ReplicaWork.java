package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.init.StartPhase;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.LogLines;
import dev.zlayer.port.Preparable;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.VolumeSyncing;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The blocking steps on one container. Each can be interrupted anywhere and leaves something that
 * the book recognises: no container, one that was never started, or one that runs.
 */
final class ReplicaWork {
  private static final int LAST_LINES = 20;

  private final ServiceParts parts;

  ReplicaWork(ServiceParts parts) {
    this.parts = parts;
  }

  /**
   * Pulls the image, runs the init steps, creates and starts the container. Only creating and
   * starting take a permit: an init step may wait for a service that needs one to start.
   */
  Container start(Effect.Start wanted, StartPhase phase) throws InterruptedException {
    PullPolicy policy =
        wanted.service().image().pullPolicy() == PullPolicy.NEVER
            ? PullPolicy.NEVER
            : PullPolicy.IF_NOT_PRESENT;
    phase.enter("image pull");
    parts
        .runtime()
        .images()
        .pull(
            new PullRequest(
                wanted.spec().image(), policy, wanted.spec().platform(), Optional.empty()),
            _ -> {});
    initialize(wanted, phase);
    phase.enter("create");
    Container made = permitted(() -> parts.runtime().create(wanted.id(), wanted.spec()));
    happened(ReplicaListener.Step.CREATED, made, Optional.empty());
    phase.leave();
    parts.initializer().fetch(made, report -> tell(wanted, report));
    phase.enter("start");
    return run(made);
  }

  /**
   * Creates a container that is started later. Where that fails nothing is left of it; what is
   * wrong will be said when it is started.
   */
  Container prepare(Effect.Start wanted) throws InterruptedException {
    Container made = permitted(() -> parts.runtime().create(wanted.id(), wanted.spec()));
    happened(ReplicaListener.Step.CREATED, made, Optional.empty());
    try {
      if (!(made instanceof Preparable preparable)) {
        throw new AgentException.Unsupported("containers of this kind cannot be created ahead");
      }
      return permitted(
          () -> {
            preparable.prepare();
            return made;
          });
    } catch (RuntimeException e) {
      remove(made);
      throw e;
    }
  }

  /** Starts what was created ahead; in its place a new one, where it would be another one now. */
  Container release(Effect.Start wanted, Container made, StartPhase phase)
      throws InterruptedException {
    if (!fits(wanted, made)) {
      remove(made);
      return start(wanted, phase);
    }
    phase.enter("start");
    return run(made);
  }

  private boolean fits(Effect.Start wanted, Container made) {
    try {
      Optional<Digest> image =
          parts.runtime().images().find(wanted.spec().image()).map(found -> found.info().digest());
      return image.isPresent()
          && image.equals(made.inspect().imageDigest())
          && made instanceof Preparable preparable
          && preparable.claim(Map.of());
    } catch (AgentException.NotFound _) {
      return false; // somebody removed it
    }
  }

  private Container run(Container made) throws InterruptedException {
    return permitted(
        () -> {
          made.start();
          happened(ReplicaListener.Step.STARTED, made, Optional.empty());
          return made;
        });
  }

  /** A step that loads the machine. */
  private interface Step {
    Container run() throws InterruptedException;
  }

  private Container permitted(Step step) throws InterruptedException {
    parts.starts().acquire();
    try {
      return step.run();
    } finally {
      parts.starts().release();
    }
  }

  private void initialize(Effect.Start wanted, StartPhase phase) throws InterruptedException {
    LifecycleSpec lifecycle = wanted.service().lifecycle();
    if (!lifecycle.init().steps().isEmpty()) {
      phase.enter("init");
      parts
          .initializer()
          .run(
              new Initializer.Request(
                  wanted.id(), wanted.spec(), lifecycle.init(), lifecycle.errors().onInitFailure()),
              report -> {
                phase.enterStep(lifecycle.init(), report);
                tell(wanted, report);
              });
    }
  }

  /** A store that fails now is told by whoever needs it next. */
  private void tell(Effect.Start wanted, StepReport report) {
    ContainerId id = wanted.id();
    if (report.result() == StepReport.Result.RUNNING) {
      return;
    }
    if (report.result() != StepReport.Result.SUCCEEDED) {
      String status =
          "init step '%s': %s".formatted(report.step(), report.error().orElse("failed"));
      List<String> lines =
          report
              .log()
              .filter(_ -> !wanted.spec().logs().inMemory())
              .map(log -> log.lines().toList())
              .orElse(List.of());
      keep(EndedReplica.of(id, parts.clock().instant(), status, lines), id);
    }
    try {
      parts
          .store()
          .commit(
              Change.of(
                  new Event(
                      parts.clock().instant(),
                      "replica.init_step",
                      id.toString(),
                      Json.object()
                          .put("step", report.step())
                          .put("result", report.result())
                          .putIf("error", report.error())
                          .build())));
    } catch (AgentException.Configuration _) {
      // see above
    }
  }

  /** Lets connections end, asks the process to end, takes everything away. */
  void stop(ContainerId id, Container container, Duration drain, Duration grace)
      throws InterruptedException {
    parts.rotation().drain(id, Deadline.after(drain));
    try {
      happened(ReplicaListener.Step.EXITED, container, container.stop(grace));
      happened(ReplicaListener.Step.STOPPED, container, Optional.empty());
    } catch (AgentException.NotFound _) {
      return;
    }
    remove(container);
  }

  void remove(Container container) throws InterruptedException {
    if (container.status() instanceof ContainerStatus.Removed) {
      return;
    }
    if (container instanceof VolumeSyncing volumes
        && container.status() instanceof ContainerStatus.Exited) {
      volumes.syncVolumes();
    }
    happened(ReplicaListener.Step.REMOVING, container, Optional.empty());
    container.remove(true);
    happened(ReplicaListener.Step.REMOVED, container, Optional.empty());
  }

  private void happened(ReplicaListener.Step step, Container container, Optional<Outcome> outcome) {
    parts.replicas().happened(step, container, outcome);
  }

  Outcome awaitEnd(Container container) throws InterruptedException {
    Outcome outcome = container.await(WaitCondition.NOT_RUNNING, Deadline.none());
    happened(ReplicaListener.Step.EXITED, container, Optional.of(outcome));
    return outcome;
  }

  /**
   * Keeps what a container printed last, which is removed with it, and returns the end of it.
   * Nothing of one whose output is to be in memory only.
   */
  List<String> lastLines(Container container, Outcome outcome) throws InterruptedException {
    List<String> lines = output(container);
    Instant at = outcome.finishedAt().orElseGet(() -> parts.clock().instant());
    keep(EndedReplica.of(container.id(), at, outcome.status().text(), lines), container.id());
    return lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size());
  }

  /** A store that fails now is told by whoever needs it next. */
  private synchronized void keep(EndedReplica ended, ContainerId id) {
    try {
      ended.keep(parts.store(), new ServiceKey(id.deployment(), id.service()));
    } catch (AgentException.Configuration _) {
      // see above
    }
  }

  private List<String> output(Container container) throws InterruptedException {
    if (container.spec().logs().inMemory()) {
      return List.of();
    }
    try (var reader = container.logs(LogQuery.ALL.withTail(EndedReplica.MOST_LINES))) {
      return LogLines.read(reader).stream().map(parts.hiding()).toList();
    } catch (AgentException _) {
      return List.of(); // a container without output has no last lines
    }
  }
}

package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.health.ProbeResult;
import dev.zlayer.engine.health.Prober;
import dev.zlayer.engine.init.StartPhase;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Carries out what was decided about one service. Everything that blocks has a thread of its own,
 * and whatever becomes of it, also a fault, is reported to the {@link ServiceController}. Asked by
 * that one only.
 */
final class EffectRunner {
  private static final System.Logger LOG = LazyLogger.of(EffectRunner.class);

  /** A runtime that does not answer is asked again. */
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(50), Duration.ofSeconds(5), 2);

  private final ServiceParts parts;
  private final ServiceKey key;
  private final Owner<ServiceController> owner;
  private final ReplicaWork work;
  private final Resolver resolver;
  private final Prober prober = new Prober();
  private final LoadMeter meter = new LoadMeter();
  private final Map<ContainerId, Thread> starting = new HashMap<>();

  EffectRunner(ServiceParts parts, ServiceKey key, Owner<ServiceController> owner) {
    this.parts = parts;
    this.key = key;
    this.owner = owner;
    this.work = new ReplicaWork(parts);
    this.resolver = new Resolver(parts.runtime(), parts.containers(), parts.salt());
  }

  /** What the book is told about the end of an effect. */
  private interface News extends BiConsumer<ServiceReconciler, Instant> {}

  private interface Step {
    News run() throws InterruptedException;
  }

  /** Whether anything is under way. */
  boolean busy() {
    return owner.busy();
  }

  /** A measurement, when one is due. */
  Optional<Effect> measure(ServiceReconciler reconciler, Instant now) {
    return meter.due(reconciler, now);
  }

  void clockMoved(Duration by) {
    meter.clockMoved(by);
  }

  void act(Effect effect, ServiceRecord record) {
    switch (effect) {
      case Effect.Resolve wanted -> {
        ServiceRevision blueprint = wanted.blueprint();
        var phase = new StartPhase();
        spawn(
            "resolve " + key,
            () -> resolve(wanted, record, phase),
            e -> (reconciler, now) -> reconciler.unresolved(blueprint, e, phase.now(), now));
      }
      case Effect.Start start ->
          starting.put(
              start.id(),
              spawn(
                  "start " + start.id(),
                  () -> start(start, phase -> work.start(start, phase)),
                  e -> started(start.id(), (b, now) -> notStarted(b, start, e, now))));
      case Effect.Release(Effect.Start start, Container container) ->
          starting.put(
              start.id(),
              spawn(
                  "start " + start.id(),
                  () -> start(start, phase -> work.release(start, container, phase)),
                  e -> started(start.id(), (b, now) -> notStarted(b, start, e, now))));
      case Effect.Prepare(Effect.Start start) ->
          spawn(
              "prepare " + start.id(),
              () -> prepare(start),
              e -> (b, _) -> b.ahead.notPrepared(start.id(), Optional.empty(), false));
      case Effect.Cancel(ContainerId id) -> {
        Thread starter = starting.get(id);
        if (starter != null) {
          starter.interrupt();
        }
      }
      case Effect.Stop(ContainerId id, Container container, Duration drain, Duration grace) ->
          spawn(
              "stop " + id,
              () -> {
                work.stop(id, container, drain, grace);
                return (reconciler, now) -> reconciler.removed(id, now);
              },
              e -> (reconciler, now) -> reconciler.notRemoved(id, e, now));
      case Effect.Remove(ContainerId id, Container container) ->
          spawn(
              "remove " + id,
              () -> {
                work.remove(container);
                return (reconciler, now) -> reconciler.removed(id, now);
              },
              e -> (reconciler, now) -> reconciler.notRemoved(id, e, now));
      case Effect.Watch(ContainerId id, Container container) ->
          // a runtime that does not answer now is asked again when the containers are listed
          spawn(
              "watch " + id,
              () -> watch(id, container),
              _ -> (reconciler, now) -> reconciler.unwatched(id, now));
      case Effect.Check check -> {
        Thread _ =
            owner.spawn(
                "check " + check.id(),
                () -> checked(check.id(), check(check)),
                e -> checked(check.id(), ProbeResult.bad(String.valueOf(e.getMessage()))));
      }
      case Effect.Measure(var containers, var requests) ->
          spawn(
              "measure " + key,
              () ->
                  meter.read(containers, parts.cores(), requests ? counted() : Optional::empty)
                      ::accept,
              _ -> (_, _) -> {});
      case Effect.CountRequests(boolean rollout) ->
          spawn(
              "count requests of " + key,
              () -> {
                Optional<Rotation.Requests> found = counted().read();
                return (reconciler, now) -> reconciler.counted(rollout, found, now);
              },
              _ -> (reconciler, now) -> reconciler.counted(rollout, Optional.empty(), now));
      case Effect.AwaitRequest() ->
          parts.rotation().onRequest(key, () -> owner.tell(told(ServiceReconciler::requested)));
    }
  }

  private LoadMeter.RequestCount counted() {
    return () -> parts.rotation().requests(key);
  }

  private Thread spawn(String name, Step step, Function<AgentException, News> failed) {
    return owner.spawn(name, () -> told(step.run()), e -> told(failed.apply(e)));
  }

  private Consumer<ServiceController> told(News news) {
    return controller -> controller.accept(news);
  }

  private News resolve(Effect.Resolve wanted, ServiceRecord record, StartPhase phase)
      throws InterruptedException {
    ServiceRevision blueprint = wanted.blueprint();
    Resolved resolved =
        resolver.resolve(
            key,
            wanted,
            Optional.ofNullable(record.images().get(blueprint.revision())),
            record.restarts(),
            phase,
            (image, event) -> parts.audience().pulling(key.service(), image, event));
    return (reconciler, now) -> reconciler.resolved(blueprint, resolved, now);
  }

  /** The steps of a start, which say what they do. */
  private interface Starting {
    Container run(StartPhase phase) throws InterruptedException;
  }

  private News prepare(Effect.Start wanted) throws InterruptedException {
    ContainerId id = wanted.id();
    try {
      Container made = work.prepare(wanted);
      return (reconciler, now) -> reconciler.ahead.prepared(id, made, now);
    } catch (RuntimeException e) {
      LOG.log(
          System.Logger.Level.DEBUG,
          () -> "container %s is not created ahead: %s".formatted(id, e.getMessage()));
      boolean unsupported = e instanceof AgentException.Unsupported;
      Optional<Container> made = find(id);
      return (reconciler, _) -> reconciler.ahead.notPrepared(id, made, unsupported);
    }
  }

  private News start(Effect.Start wanted, Starting steps) throws InterruptedException {
    ContainerId id = wanted.id();
    var phase = new StartPhase();
    try {
      Container made = steps.run(phase);
      return started(id, (reconciler, now) -> reconciler.started(id, made, now));
    } catch (InterruptedException e) {
      if (owner.closing()) {
        throw e;
      }
      Optional<Container> made = find(id);
      return started(id, (reconciler, _) -> reconciler.abandoned(id, made));
    } catch (RuntimeException e) {
      AgentException error =
          e instanceof AgentException ours
              ? ours
              : new AgentException.Internal("the start of %s failed: %s".formatted(id, e), e);
      Optional<Container> made = find(id);
      return started(
          id, (reconciler, now) -> reconciler.startFailed(id, made, error, phase.now(), now));
    }
  }

  /** What is left of it is found when the containers are listed. */
  private static void notStarted(
      ServiceReconciler reconciler, Effect.Start start, AgentException error, Instant now) {
    reconciler.startFailed(start.id(), Optional.empty(), error, Optional.of("start"), now);
  }

  /** What was made before a start failed; nothing may be concluded while the runtime is silent. */
  private Optional<Container> find(ContainerId id) throws InterruptedException {
    for (int tries = 0; ; tries++) {
      try {
        return parts.runtime().find(id);
      } catch (RuntimeException _) {
        Pauses.REAL.pause(RETRY_BACKOFF.delay(tries));
      }
    }
  }

  private News started(ContainerId id, News news) {
    return (reconciler, now) -> {
      starting.remove(id);
      news.accept(reconciler, now);
    };
  }

  private News watch(ContainerId id, Container container) throws InterruptedException {
    Outcome outcome = work.awaitEnd(container);
    // so that nothing is routed to it while its last lines are read
    owner.tell(controller -> controller.accept((_, _) -> {}));
    List<String> lastLines = work.lastLines(container, outcome);
    return (reconciler, now) -> reconciler.ended(id, outcome, lastLines, now);
  }

  private ProbeResult check(Effect.Check wanted) throws InterruptedException {
    ProbeResult answer = prober.check(wanted.probe(), wanted.container(), wanted.timeout());
    return new ProbeResult(answer.success(), parts.hiding().apply(answer.output()));
  }

  private static Consumer<ServiceController> checked(ContainerId id, ProbeResult result) {
    return controller -> controller.checked(id, result);
  }
}

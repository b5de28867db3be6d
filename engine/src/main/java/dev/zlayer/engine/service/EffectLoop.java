package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.health.ProbeResult;
import dev.zlayer.engine.health.Prober;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Carries out what was decided about one service. Everything that blocks has a thread of its own,
 * which puts what came of it into the mailbox of the {@link ServiceLoop}. Asked by that loop only.
 */
final class EffectLoop implements AutoCloseable {
  private final ServiceParts parts;
  private final ServiceKey key;
  private final Consumer<BiConsumer<ServiceBook, Instant>> mailbox;
  private final ReplicaWork work;
  private final Resolver resolver;
  private final Prober prober = new Prober();
  private final LoadMeter meter = new LoadMeter();
  private final Map<ContainerId, Thread> starting = new HashMap<>();
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

  EffectLoop(
      ServiceParts parts, ServiceKey key, Consumer<BiConsumer<ServiceBook, Instant>> mailbox) {
    this.parts = parts;
    this.key = key;
    this.mailbox = mailbox;
    this.work = new ReplicaWork(parts);
    this.resolver = new Resolver(parts.runtime(), parts.containers(), parts.salt());
  }

  /** Whether anything is under way. */
  boolean busy() {
    return !threads.isEmpty();
  }

  /** A measurement, when one is due. */
  Optional<Effect> measure(ServiceBook book, Instant now) {
    return meter.due(book, now);
  }

  void act(Effect effect, ServiceRecord record) {
    switch (effect) {
      case Effect.Resolve(Blueprint blueprint) ->
          spawn("resolve " + key, () -> resolve(blueprint, record));
      case Effect.Start start ->
          starting.put(start.id(), spawn("start " + start.id(), () -> start(start)));
      case Effect.Cancel(ContainerId id) -> {
        Thread starter = starting.get(id);
        if (starter != null) {
          starter.interrupt();
        }
      }
      case Effect.Stop(ContainerId id, Container container, Duration grace) ->
          spawn("stop " + id, () -> takeAway(id, () -> work.stop(id, container, grace)));
      case Effect.Remove(ContainerId id, Container container) ->
          spawn("remove " + id, () -> takeAway(id, () -> work.remove(container)));
      case Effect.Watch(ContainerId id, Container container) ->
          spawn("watch " + id, () -> watch(id, container));
      case Effect.Check check -> spawn("check " + check.id(), () -> check(check));
      case Effect.Measure(var containers) ->
          spawn("measure " + key, () -> post(meter.read(containers, parts.cores())));
    }
  }

  private void resolve(Blueprint blueprint, ServiceRecord record) throws InterruptedException {
    try {
      Resolved resolved =
          resolver.resolve(
              key,
              blueprint,
              Optional.ofNullable(record.images().get(blueprint.revision())),
              record.restarts(),
              (image, event) -> parts.audience().pulling(key.service(), image, event));
      post((book, now) -> book.resolved(blueprint, resolved, now));
    } catch (AgentException e) {
      post((book, now) -> book.unresolved(blueprint, e, now));
    }
  }

  private void start(Effect.Start wanted) throws InterruptedException {
    ContainerId id = wanted.id();
    try {
      Container made = work.start(wanted);
      startOver(id, (book, now) -> book.started(id, made, now));
    } catch (AgentException e) {
      startOver(id, (book, now) -> book.startFailed(id, parts.runtime().find(id), e, now));
    } catch (InterruptedException e) {
      startOver(id, (book, _) -> book.abandoned(id, parts.runtime().find(id)));
      throw e;
    }
  }

  private void startOver(ContainerId id, BiConsumer<ServiceBook, Instant> news) {
    post(
        (book, now) -> {
          starting.remove(id);
          news.accept(book, now);
        });
  }

  private void takeAway(ContainerId id, Step step) throws InterruptedException {
    try {
      step.run();
      post((book, now) -> book.removed(id, now));
    } catch (AgentException e) {
      post((book, now) -> book.notRemoved(id, e, now));
    }
  }

  private void watch(ContainerId id, Container container) throws InterruptedException {
    try {
      Outcome outcome = work.awaitEnd(container);
      wake(); // so that nobody is led to it while its last lines are read
      List<String> lastLines = work.lastLines(container);
      post((book, now) -> book.ended(id, outcome, lastLines, now));
    } catch (AgentException _) {
      // a runtime that cannot tell now is asked again when the containers are listed
      post((book, now) -> book.unwatched(id, now));
    }
  }

  private void check(Effect.Check wanted) throws InterruptedException {
    ProbeResult answer = prober.check(wanted.probe(), wanted.container(), wanted.timeout());
    var result = new ProbeResult(answer.success(), parts.hiding().apply(answer.output()));
    post((book, now) -> book.checked(wanted.id(), result, now));
  }

  private void post(BiConsumer<ServiceBook, Instant> news) {
    mailbox.accept(news);
  }

  private void wake() {
    post((_, _) -> {});
  }

  /** Something on a container that may fail and may be interrupted. */
  private interface Step {
    void run() throws InterruptedException;
  }

  private Thread spawn(String name, Step step) {
    Thread spawned =
        Thread.ofVirtual()
            .name(name)
            .unstarted(
                () -> {
                  try {
                    step.run();
                  } catch (InterruptedException _) {
                    // cancelled, or the agent ends: the container tells how far it came
                  } finally {
                    threads.remove(Thread.currentThread());
                    wake();
                  }
                });
    threads.add(spawned);
    spawned.start();
    return spawned;
  }

  /** Leaves all containers as they are and returns when no thread is left. */
  @Override
  public void close() {
    List<Thread> left = List.copyOf(threads);
    left.forEach(Thread::interrupt);
    Threads.join(left);
  }
}

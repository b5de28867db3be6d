package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.engine.health.HealthPolicy;
import dev.zlayer.engine.health.HealthStatus;
import dev.zlayer.engine.health.Prober;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

/** Checks one run of a container and reports when its health changes; ends with the run. */
final class HealthMonitor implements Owner.State {
  private static final Duration WHILE_PAUSED = Duration.ofSeconds(1);
  private static final int KEPT = 5;

  private final Container container;
  private final ContainerHealth rules;
  private final TimeSource time;
  private final Prober prober;
  private final Listener listener;
  private final AtomicReference<HealthStatus> status;
  private final AtomicReference<List<HealthResult>> results;
  private boolean done;

  /** Who is told; called on the monitor's thread. */
  interface Listener {
    void changed(HealthStatus status) throws InterruptedException;
  }

  private HealthMonitor(
      Container container,
      ContainerHealth rules,
      TimeSource time,
      Prober prober,
      Listener listener,
      AtomicReference<HealthStatus> status,
      AtomicReference<List<HealthResult>> results) {
    this.container = container;
    this.rules = rules;
    this.time = time;
    this.prober = prober;
    this.listener = listener;
    this.status = status;
    this.results = results;
  }

  /**
   * The checks of one run, as others see them.
   *
   * @param results those of the last few, oldest first
   */
  record Handle(
      Owner<HealthMonitor> owner,
      AtomicReference<HealthStatus> status,
      AtomicReference<List<HealthResult>> results)
      implements AutoCloseable {
    @Override
    public void close() {
      owner.close();
    }
  }

  static Handle start(
      Container container,
      ContainerHealth rules,
      TimeSource time,
      Prober prober,
      Supervisor supervisor,
      Listener listener) {
    var status = new AtomicReference<>(HealthStatus.starting(time.instant()));
    var results = new AtomicReference<>(List.<HealthResult>of());
    try {
      var owner =
          Owner.of(
                  "health of " + container.id(),
                  time,
                  supervisor,
                  (Owner<HealthMonitor> _, int _) ->
                      new HealthMonitor(container, rules, time, prober, listener, status, results))
              .start();
      return new Handle(owner, status, results);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while checks were begun", e);
    }
  }

  @Override
  public boolean done() {
    return done;
  }

  @Override
  public void clockMoved(Duration by) {
    status.updateAndGet(before -> before.moved(by));
  }

  @Override
  public Duration round() throws InterruptedException {
    HealthStatus before = Objects.requireNonNull(status.get());
    Instant now = time.instant();
    if (before.next().isAfter(now)) {
      return Duration.between(now, before.next());
    }
    switch (container.status()) {
      case ContainerStatus.Running running -> check(before, running.startedAt());
      case ContainerStatus.Paused _ -> {
        return WHILE_PAUSED; // a paused container answers nothing, which says nothing
      }
      case ContainerStatus.Created _,
          ContainerStatus.Prepared _,
          ContainerStatus.Stopping _,
          ContainerStatus.Exited _,
          ContainerStatus.Removed _ ->
          done = true;
      case ContainerStatus.Unknown _ -> {
        return WHILE_PAUSED;
      }
    }
    return Duration.ZERO;
  }

  private void keep(HealthResult result) {
    var kept = new ArrayList<>(Objects.requireNonNull(results.get()));
    kept.add(result);
    results.set(List.copyOf(kept.subList(Math.max(0, kept.size() - KEPT), kept.size())));
  }

  private void check(HealthStatus before, Instant startedAt) throws InterruptedException {
    Instant startedCheck = time.instant();
    var result = prober.check(rules.probe(), container, rules.timeout());
    if (!(container.status() instanceof ContainerStatus.Running)) {
      return; // it failed because the container ended or was paused
    }
    Instant now = time.instant();
    keep(new HealthResult(startedCheck, now, result));
    HealthStatus after =
        HealthPolicy.after(before, result, rules.policy(), startedAt, now)
            .startingBy(rules.startInterval().map(now::plus));
    status.set(after);
    if (after.state() != before.state()) {
      listener.changed(after);
    }
  }
}

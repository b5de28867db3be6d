package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.task.KeyedLock;
import java.time.Duration;
import java.util.Optional;

/** The part of a handle that starts and ends a container with a process and a monitor. */
public abstract class MonitoredContainer extends StatefulContainer<ContainerRecord> {
  private final ContainerState state;
  private final KeyedLock<String> locks;
  private final Stopping stopping;

  protected MonitoredContainer(
      String runtime, ContainerState state, KeyedLock<String> locks, Stopping stopping) {
    super(runtime, state);
    this.state = state;
    this.locks = locks;
    this.stopping = stopping;
  }

  /** Starts what does not run; its lock is held. */
  protected abstract void begin() throws InterruptedException;

  @Override
  public final void start() throws InterruptedException {
    try (var _ = locks.lock(state.name())) {
      requirePresent();
      if (!status().alive()) {
        begin();
      }
    }
  }

  @Override
  public final Optional<Outcome> stop(Duration grace) throws InterruptedException {
    try (var _ = locks.lock(state.name())) {
      requirePresent();
      return stopping.stop(state, state.record().stopSignal(), grace);
    }
  }

  @Override
  public final void kill(Signal signal) throws InterruptedException {
    requirePresent();
    if (status() instanceof ContainerStatus.Prepared || !stopping.signal(state, signal)) {
      throw notRunning();
    }
  }
}

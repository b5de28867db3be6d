package dev.zlayer.runtime.life;

import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.task.KeyedLock;
import java.time.Duration;
import java.util.Optional;

/** The part of a handle that starts and ends a container with a process and a monitor. */
public abstract class MonitoredContainer extends CellContainer<ContainerRecord> {
  private final Cell cell;
  private final KeyedLock<String> locks;
  private final Stopping stopping;

  protected MonitoredContainer(
      String runtime, Cell cell, KeyedLock<String> locks, Stopping stopping) {
    super(runtime, cell);
    this.cell = cell;
    this.locks = locks;
    this.stopping = stopping;
  }

  /** Starts what does not run; its lock is held. */
  protected abstract void begin() throws InterruptedException;

  @Override
  public final void start() throws InterruptedException {
    try (var _ = locks.lock(cell.name())) {
      requirePresent();
      if (!status().alive()) {
        begin();
      }
    }
  }

  @Override
  public final Optional<Outcome> stop(Duration grace) throws InterruptedException {
    try (var _ = locks.lock(cell.name())) {
      requirePresent();
      return stopping.stop(cell, cell.record().stopSignal(), grace);
    }
  }

  @Override
  public final void kill(Signal signal) throws InterruptedException {
    requirePresent();
    if (!stopping.signal(cell, signal)) {
      throw notRunning();
    }
  }
}

package dev.zlayer.runtime.oci;

import dev.zlayer.container.Outcome;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** Ends a container's process, politely first. */
final class Stopping {
  private final Workshop shop;

  Stopping(Workshop shop) {
    this.shop = shop;
  }

  /** The caller holds the container's lock. Returns how it ended; nothing if it never ran. */
  Optional<Outcome> stop(Cell cell, Signal signal, Duration grace) throws InterruptedException {
    if (!cell.status().alive()) {
      return cell.record().outcome();
    }
    cell.view().update(view -> view.stopping(true));
    try {
      shop.faults().reached("stop.marked");
      thaw(cell);
      signal(cell, signal);
      shop.faults().reached("stop.signalled");
      if (!ended(cell, Deadline.after(grace))) {
        signal(cell, Signal.KILL);
        shop.faults().reached("stop.killed");
        if (!ended(cell, Deadline.after(shop.settings().killLimit()))) {
          throw new AgentException.Timeout(
              "waiting for container %s to die of SIGKILL".formatted(cell.record().id()),
              shop.settings().killLimit());
        }
      }
      endOthers(cell);
      shop.faults().reached("stop.done");
      return cell.record().outcome();
    } finally {
      cell.view().update(view -> view.stopping(false));
    }
  }

  /** Sends a signal to the first process; false when it does not run. */
  boolean signal(Cell cell, Signal signal) {
    Optional<ContainerRecord.Processes> processes = cell.record().processes();
    try {
      return processes.isPresent() && processes.get().first().signal(signal.number());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot send %s to container %s: %s"
              .formatted(signal, cell.record().id(), e.getMessage()),
          e);
    }
  }

  /** Frozen processes do not act on signals; on SIGKILL only with cgroup v2. */
  void thaw(Cell cell) throws InterruptedException {
    if (cell.record().phase() == ContainerRecord.Phase.PAUSED) {
      try {
        shop.runtime().resume(cell.name());
      } catch (ToolFailed e) {
        if (runs(cell)) {
          throw new AgentException.Internal(e.reason(), e);
        }
      }
      cell.save(
          record -> record.withPhase(ContainerRecord.Phase.PAUSED, ContainerRecord.Phase.RUNNING));
    }
  }

  private static boolean runs(Cell cell) {
    return cell.record().processes().filter(processes -> processes.first().alive()).isPresent();
  }

  private static boolean ended(Cell cell, Deadline deadline) throws InterruptedException {
    try {
      cell.view().await(view -> !view.status().alive(), deadline, "waiting for its end");
      return true;
    } catch (AgentException.Timeout _) {
      return false;
    }
  }

  /** Without a pid namespace of its own, its other processes do not die with the first. */
  private void endOthers(Cell cell) throws InterruptedException {
    if (cell.record().spec().security().pid() instanceof SecuritySpec.Namespace.Private) {
      return;
    }
    try {
      shop.runtime().killAll(cell.name(), Signal.KILL);
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    }
  }
}

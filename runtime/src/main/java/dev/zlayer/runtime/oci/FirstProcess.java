package dev.zlayer.runtime.oci;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.life.Cell;
import dev.zlayer.runtime.life.ContainerRecord;
import dev.zlayer.runtime.life.Stopping;
import java.io.IOException;
import java.util.Optional;

/** The first process of a container, as a process of this host. */
final class FirstProcess implements Stopping.Signals {
  static final FirstProcess SIGNALS = new FirstProcess();

  private FirstProcess() {}

  @Override
  public boolean send(Cell cell, Signal signal) {
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

  @Override
  public boolean frozen(Cell cell) {
    return cell.record().processes().filter(processes -> processes.first().alive()).isPresent();
  }
}

package dev.zlayer.runtime.oci;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.lifecycle.ContainerRecord;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.runtime.lifecycle.Stopping;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** The first process of a container, as a process of this host. */
record FirstProcess(OciCommands runtime) implements Stopping.Signals {
  /**
   * Bounds the wait for the program; from its release to its first instruction are milliseconds.
   */
  private static final Duration EXEC_LIMIT = Duration.ofSeconds(2);

  private static final Duration PAUSE = Duration.ofMillis(1);

  @Override
  public boolean send(ContainerState state, Signal signal) throws InterruptedException {
    Optional<ContainerRecord.Processes> processes = state.record().processes();
    if (processes.isEmpty()) {
      return false;
    }
    try {
      if (!signal.equals(Signal.KILL)) {
        awaitProgram(processes.get());
      }
      return processes.get().first().signal(signal.number());
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot send %s to container %s: %s"
              .formatted(signal, state.record().id(), e.getMessage()),
          e);
    }
  }

  /**
   * A process that was just released still is the OCI runtime, which would act on the signal in
   * place of the program: runc exits with 2, crun ignores it.
   */
  private void awaitProgram(ContainerRecord.Processes processes)
      throws IOException, InterruptedException {
    Deadline deadline = Deadline.after(EXEC_LIMIT);
    try {
      while (runtime.waits(processes.first()) && !deadline.passed()) {
        Pauses.REAL.pause(PAUSE);
      }
    } catch (ToolFailed e) {
      throw new IOException(e.reason(), e);
    }
  }

  @Override
  public boolean frozen(ContainerState state) {
    return state.record().processes().filter(processes -> processes.first().alive()).isPresent();
  }
}

package dev.zlayer.runtime.lifecycle;

import dev.zlayer.container.Outcome;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.runtime.oci.tool.ToolFailed;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Ends a container's process, politely first, or has it pause.
 *
 * @param killLimit how long to wait for death after SIGKILL
 * @param signals how the first process is reached
 * @param steps is told what has been done, for tests that end the agent there
 */
public record Stopping(
    OciCommands runtime, Duration killLimit, Signals signals, Consumer<String> steps) {
  /** Reaches the first process of a container. */
  public interface Signals {
    /** Sends a signal; false when it does not run. */
    boolean send(ContainerState state, Signal signal) throws InterruptedException;

    /** Whether one that the runtime did not thaw is really frozen, and not just gone. */
    boolean frozen(ContainerState state) throws InterruptedException;
  }

  /** The caller holds the container's lock. Returns how it ended; nothing if it never ran. */
  public Optional<Outcome> stop(ContainerState state, Signal signal, Duration grace)
      throws InterruptedException {
    if (!state.status().alive()) {
      return state.record().outcome();
    }
    state.view().update(view -> view.stopping(true));
    try {
      steps.accept("stop.marked");
      thaw(state);
      signals.send(state, signal);
      steps.accept("stop.signalled");
      if (!ended(state, Deadline.after(grace))) {
        signals.send(state, Signal.KILL);
        steps.accept("stop.killed");
        if (!ended(state, Deadline.after(killLimit))) {
          throw new AgentException.Timeout(
              "waiting for container %s to die of SIGKILL".formatted(state.record().id()),
              killLimit);
        }
      }
      endOthers(state);
      steps.accept("stop.done");
      return state.record().outcome();
    } finally {
      state.view().update(view -> view.stopping(false));
    }
  }

  /** Sends a signal to the first process, thawing it if it could not act otherwise. */
  public boolean signal(ContainerState state, Signal signal) throws InterruptedException {
    if (signal.equals(Signal.KILL)) {
      thaw(state);
    }
    return signals.send(state, signal);
  }

  /** Freezes a running container; the caller holds its lock. */
  public void freeze(ContainerState state) throws InterruptedException {
    state.save(record -> record.withPhase(Phase.RUNNING, Phase.PAUSED));
    steps.accept("pause.recorded");
    try {
      runtime.pause(state.name());
    } catch (ToolFailed e) {
      state.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
      throw new AgentException.Internal(e.reason(), e);
    } catch (InterruptedException e) {
      Threads.complete(() -> noteThawed(state));
      throw e;
    }
  }

  /** An interrupt may come before or after the runtime has done it: the record says which. */
  private void noteThawed(ContainerState state) throws InterruptedException {
    try {
      if (!runtime.state(state.name()).equals("paused")) {
        state.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
      }
    } catch (ToolFailed _) {
      // as it was recorded before
    }
  }

  /** Frozen processes do not act on signals; on SIGKILL only with cgroup v2. */
  public void thaw(ContainerState state) throws InterruptedException {
    if (state.record().phase() == Phase.PAUSED) {
      try {
        runtime.resume(state.name());
      } catch (ToolFailed e) {
        if (signals.frozen(state)) {
          throw new AgentException.Internal(e.reason(), e);
        }
      } catch (InterruptedException e) {
        Threads.complete(() -> noteThawed(state));
        throw e;
      }
      state.save(record -> record.withPhase(Phase.PAUSED, Phase.RUNNING));
    }
  }

  private static boolean ended(ContainerState state, Deadline deadline)
      throws InterruptedException {
    try {
      state.view().await(view -> !view.status().alive(), deadline, "waiting for its end");
      return true;
    } catch (AgentException.Timeout _) {
      return false;
    }
  }

  /** Without a pid namespace of its own, its other processes do not die with the first. */
  private void endOthers(ContainerState state) throws InterruptedException {
    if (state.record().spec().security().pid() instanceof SecuritySpec.Namespace.Private) {
      return;
    }
    try {
      runtime.killAll(state.name(), Signal.KILL);
    } catch (ToolFailed e) {
      throw new AgentException.Internal(e.reason(), e);
    }
  }
}

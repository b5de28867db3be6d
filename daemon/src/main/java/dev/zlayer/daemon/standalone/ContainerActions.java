package dev.zlayer.daemon.standalone;

import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.task.Deadline;
import java.time.Duration;

/** Pauses and signals, each with its event. */
public final class ContainerActions {
  private static final Duration END_LIMIT = Duration.ofSeconds(10);

  private final ContainerEvents events;

  ContainerActions(ContainerEvents events) {
    this.events = events;
  }

  /** Sends a signal, and that is all; what its exit means is for its restart policy. */
  public void signal(Container container, Signal signal) throws InterruptedException {
    if (container.status().alive()) { // else it is refused; reported before an exit that it causes
      events.record(
          "container.killed",
          container,
          Json.object().put("signal", String.valueOf(signal.number())).build());
    }
    container.kill(signal);
  }

  /** Freezes its processes. */
  public void pause(Container container) throws InterruptedException {
    pausable(container).pause();
    events.record("container.paused", container, Json.object().build());
  }

  public void unpause(Container container) throws InterruptedException {
    pausable(container).unpause();
    events.record("container.unpaused", container, Json.object().build());
  }

  private static Pausable pausable(Container container) {
    if (container instanceof Pausable pausable) {
      return pausable;
    }
    throw new AgentException.Unsupported(
        "containers of runtime '%s' cannot be paused".formatted(container.inspect().runtime()));
  }

  /** Ends it before its removal, so that how it ended can be reported. */
  static void endNow(Container container) throws InterruptedException {
    try {
      if (container.status().alive()) {
        container.kill(Signal.KILL);
        Outcome _ = container.await(WaitCondition.NOT_RUNNING, Deadline.after(END_LIMIT));
      }
    } catch (AgentException.Conflict | AgentException.NotFound | AgentException.Timeout _) {
      // it has ended meanwhile, or its removal says why it does not
    }
  }
}

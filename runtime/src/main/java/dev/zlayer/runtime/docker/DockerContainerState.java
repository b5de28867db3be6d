package dev.zlayer.runtime.docker;

import dev.zlayer.container.Outcome;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What the engine does not tell about one container; lost with the agent, and then not needed. */
final class DockerContainerState {
  private final AtomicInteger stops = new AtomicInteger();
  private final AtomicInteger starts;
  private volatile @Nullable Outcome last;

  /** {@code ran} says whether it had been started before this agent knew it. */
  DockerContainerState(boolean ran) {
    this.starts = new AtomicInteger(ran ? 1 : 0);
  }

  void started() {
    starts.incrementAndGet();
  }

  int restarts() {
    return Math.max(0, starts.get() - 1);
  }

  void stopBegins() {
    stops.incrementAndGet();
  }

  void stopEnds() {
    stops.decrementAndGet();
  }

  boolean stopping() {
    return stops.get() > 0;
  }

  /** How its last run ended, as far as this agent saw it. */
  Optional<Outcome> last() {
    return Optional.ofNullable(last);
  }

  void ended(Outcome outcome) {
    last = outcome;
  }
}

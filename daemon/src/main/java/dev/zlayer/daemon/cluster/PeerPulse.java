package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Whether nodes that were silent still answer: a stream may be silent for days, so silence alone
 * says nothing. A node is asked once for all who wait for it.
 */
final class PeerPulse {
  /** A busy machine may need some of it. */
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private static final Duration FRESH = Duration.ofSeconds(5);

  private final Map<String, Pulse> pulses = new ConcurrentHashMap<>();
  private final Duration fresh;

  PeerPulse() {
    this(FRESH);
  }

  /** An answer holds for that long. */
  PeerPulse(Duration fresh) {
    this.fresh = fresh;
  }

  /** Asks a node for anything; returns whether it has answered. */
  @FunctionalInterface
  interface Question {
    boolean ask(Deadline deadline) throws InterruptedException;
  }

  boolean beats(Peer peer, Question question) throws InterruptedException {
    return pulses.computeIfAbsent(peer.address(), _ -> new Pulse()).beats(question, fresh);
  }

  /** What is known of one node. */
  private static final class Pulse {
    private Deadline again = Deadline.after(Duration.ZERO);
    private boolean answered;

    synchronized boolean beats(Question question, Duration fresh) throws InterruptedException {
      if (again.passed()) {
        answered = question.ask(Deadline.after(LIMIT));
        again = Deadline.after(fresh);
      }
      return answered;
    }
  }
}

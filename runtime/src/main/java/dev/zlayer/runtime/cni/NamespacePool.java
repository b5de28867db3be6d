package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.LazyLogger;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Keeps slots on the default network ready, so that a container does not wait for its plugins. When
 * more are wanted than are ready, more are kept; when nobody wants any for a while, the usual
 * number again.
 */
final class NamespacePool implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(NamespacePool.class);
  private static final int WORKERS = 2;
  private static final int GROWTH = 8;

  /** About what a container takes to start, which a refill is not to slow down. */
  private static final Duration COURTESY = Duration.ofMillis(40);

  /** How many one makes together at most; the first of them waits for the last. */
  private static final int TOGETHER = 4;

  /** Delivers slots in phase ready. */
  @FunctionalInterface
  interface Maker {
    List<PreparedNamespace> make(int count) throws InterruptedException;
  }

  private final Maker maker;
  private final NamespacePreparer slots;
  private final int usual;
  private final Duration lull;
  private final Queue<PreparedNamespace> ready = new ConcurrentLinkedQueue<>();
  private final Semaphore missing;
  private final List<Thread> workers;
  private int wanted;

  /**
   * Starts to fill it.
   *
   * @param lull without a taker ends a growth
   */
  NamespacePool(int usual, Duration lull, Maker maker, NamespacePreparer slots) {
    this.maker = maker;
    this.slots = slots;
    this.usual = usual;
    this.lull = lull;
    this.wanted = usual;
    this.missing = new Semaphore(usual);
    this.workers =
        IntStream.range(0, WORKERS)
            .mapToObj(number -> Thread.ofVirtual().name("network-pool-" + number).start(this::run))
            .toList();
  }

  /** A slot that is ready now, or none; never waits. */
  Optional<PreparedNamespace> take() {
    for (PreparedNamespace slot = ready.poll(); slot != null; slot = ready.poll()) {
      missing.release();
      if (Namespaces.alive(slot.netns())) {
        return Optional.of(slot);
      }
      slots.leave(PreparedNamespaceStore.Phase.READY, slot);
    }
    grow();
    return Optional.empty();
  }

  int size() {
    return ready.size();
  }

  private synchronized void grow() {
    int more = Math.min(wanted, usual * GROWTH - wanted);
    wanted += more;
    missing.release(more);
  }

  private synchronized void shrink() {
    PreparedNamespace slot = wanted > usual ? ready.poll() : null;
    while (slot != null) {
      wanted--;
      slots.leave(PreparedNamespaceStore.Phase.READY, slot);
      slot = wanted > usual ? ready.poll() : null;
    }
  }

  /** Takes down what nobody took. */
  @Override
  public void close() throws InterruptedException {
    workers.forEach(Thread::interrupt);
    for (Thread worker : workers) {
      worker.join();
    }
    for (PreparedNamespace slot = ready.poll(); slot != null; slot = ready.poll()) {
      slots.leave(PreparedNamespaceStore.Phase.READY, slot);
    }
  }

  private void run() {
    int failures = 0;
    try {
      while (true) {
        if (!missing.tryAcquire(lull.toNanos(), TimeUnit.NANOSECONDS)) {
          shrink();
          continue;
        }
        int count = 1;
        try {
          if (!ready.isEmpty()) {
            pause(COURTESY);
          }
          // after a failure one by one: several would take the last addresses and give them back
          while (failures == 0 && count < TOGETHER && missing.tryAcquire()) {
            count++;
          }
          ready.addAll(maker.make(count));
          failures = 0;
        } catch (AgentException e) {
          LOG.log(
              System.Logger.Level.WARNING,
              "no network namespace could be prepared: {0}",
              e.getMessage());
          pause(Backoff.DEFAULT.delay(failures++));
          missing.release(count);
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "network namespaces are no longer prepared", e);
    }
  }

  /** Waits on a permit that never comes: only closing ends it early. */
  private static void pause(Duration duration) throws InterruptedException {
    boolean _ = new Semaphore(0).tryAcquire(duration.toNanos(), TimeUnit.NANOSECONDS);
  }
}

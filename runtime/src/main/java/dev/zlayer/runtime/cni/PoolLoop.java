package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.task.Backoff;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Keeps slots on the default network ready, so that a container does not wait for its plugins. */
final class PoolLoop implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(PoolLoop.class.getName());

  private final Callable<Slot> maker;
  private final SlotMaker slots;
  private final Queue<Slot> ready = new ConcurrentLinkedQueue<>();
  private final Semaphore missing;
  private final Thread thread;

  /** The maker delivers slots in phase ready. */
  PoolLoop(int size, Callable<Slot> maker, SlotMaker slots) {
    this.maker = maker;
    this.slots = slots;
    this.missing = new Semaphore(size);
    this.thread = Thread.ofVirtual().name("network-pool").start(this::run);
  }

  /** A slot that is ready now, or none; never waits. */
  Optional<Slot> take() {
    for (Slot slot = ready.poll(); slot != null; slot = ready.poll()) {
      missing.release();
      if (Namespaces.alive(slot.netns())) {
        return Optional.of(slot);
      }
      slots.leave(SlotStore.Phase.READY, slot);
    }
    return Optional.empty();
  }

  int size() {
    return ready.size();
  }

  /** Takes down what nobody took. */
  @Override
  public void close() throws InterruptedException {
    thread.interrupt();
    thread.join();
    for (Slot slot = ready.poll(); slot != null; slot = ready.poll()) {
      slots.leave(SlotStore.Phase.READY, slot);
    }
  }

  private void run() {
    int failures = 0;
    try {
      while (true) {
        missing.acquire();
        try {
          ready.add(maker.call());
          failures = 0;
        } catch (AgentException e) {
          LOG.log(
              System.Logger.Level.WARNING,
              "no network namespace could be prepared: {0}",
              e.getMessage());
          pause(failures++);
          missing.release();
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    } catch (Exception e) {
      LOG.log(System.Logger.Level.ERROR, "network namespaces are no longer prepared", e);
    }
  }

  /** Waits on a permit that never comes: only closing ends it early. */
  private static void pause(int failures) throws InterruptedException {
    boolean _ =
        new Semaphore(0)
            .tryAcquire(Backoff.DEFAULT.delay(failures).toNanos(), TimeUnit.NANOSECONDS);
  }
}

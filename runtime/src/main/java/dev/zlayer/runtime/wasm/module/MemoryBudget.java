package dev.zlayer.runtime.wasm.module;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * What all modules of the agent may take of its heap together: programs, memories, tables, buffers.
 * Whoever allocates for a module asks here first, since a heap that is used up ends the agent.
 */
public final class MemoryBudget {
  private final long total;
  private final AtomicLong used = new AtomicLong();
  private volatile BooleanSupplier reclaim = () -> false;

  public MemoryBudget(long total) {
    this.total = total;
  }

  /**
   * @param reclaim releases something that can be missed; false when there is nothing of the kind
   */
  void whenShort(BooleanSupplier reclaim) {
    this.reclaim = reclaim;
  }

  /** Takes that many bytes, or none when there are not so many left. */
  public boolean take(long bytes) {
    while (!taken(bytes)) {
      if (bytes < 0 || bytes > total || !reclaim.getAsBoolean()) {
        return false;
      }
    }
    return true;
  }

  private boolean taken(long bytes) {
    long before;
    do {
      before = used.get();
      if (bytes < 0 || bytes > total - before) {
        return false;
      }
    } while (!used.compareAndSet(before, before + bytes));
    return true;
  }

  public void release(long bytes) {
    used.addAndGet(-bytes);
  }

  public long total() {
    return total;
  }

  public long left() {
    return total - used.get();
  }
}

package dev.zlayer.runtime.wasm;

import dev.zlayer.runtime.wasm.module.MemoryBudget;
import dev.zlayer.runtime.wasm.wasi.Guest;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What one run of a module has taken: at most its own limit, and never more than the budget of all
 * modules leaves. Closing it gives everything back. Taken from by the module's thread, read by any.
 */
final class MemoryAccount implements Guest.Buffers, AutoCloseable {
  private final MemoryBudget budget;
  private final long limit;
  private final AtomicLong used = new AtomicLong();

  MemoryAccount(MemoryBudget budget, long limit) {
    this.budget = budget;
    this.limit = limit;
  }

  /** Whether so much was granted. */
  boolean take(long bytes) {
    if (bytes < 0 || bytes > limit - used.get() || !budget.take(bytes)) {
      return false;
    }
    used.addAndGet(bytes);
    return true;
  }

  /** Beside the module's own limit, within the budget. */
  @Override
  public boolean borrow(long bytes) {
    return budget.take(bytes);
  }

  @Override
  public void giveBack(long bytes) {
    budget.release(bytes);
  }

  void release(long bytes) {
    used.addAndGet(-bytes);
    budget.release(bytes);
  }

  long limit() {
    return limit;
  }

  long used() {
    return used.get();
  }

  /** Why nothing more was granted. */
  String shortage() {
    return "its limit leaves %d KiB and the %d MiB for all modules of the agent leave %d KiB"
        .formatted(
            (limit - used.get()) / 1024, budget.total() >> 20, Math.max(0, budget.left()) / 1024);
  }

  @Override
  public void close() {
    budget.release(used.getAndSet(0));
  }
}

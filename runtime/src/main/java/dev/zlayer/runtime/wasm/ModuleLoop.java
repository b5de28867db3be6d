package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.runtime.wasm.module.Program;
import dev.zlayer.runtime.wasm.wasi.Guest;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Reply;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import run.endive.runtime.ByteArrayMemory;
import run.endive.runtime.Instance;
import run.endive.runtime.Memory;
import run.endive.runtime.TableInstance;
import run.endive.wasi.WasiExitException;
import run.endive.wasm.types.MemoryLimits;
import run.endive.wasm.types.Table;

/**
 * Runs a module once, on a thread of its own: compiled code looks for an interrupt in every loop,
 * so an interrupt ends it wherever it is.
 */
final class ModuleLoop {
  private static final Signal ABORT = Signal.parse("ABRT");

  /** A number and two references. */
  private static final int TABLE_ENTRY_BYTES = 20;

  /** Why it was interrupted. */
  private sealed interface Order {
    record End(Signal signal) implements Order {}

    record AgentEnds() implements Order {}
  }

  private final Program program;
  private final Guest guest;
  private final ModuleStreams streams;
  private final long memoryLimit;
  private final LongSupplier room;
  private final Consumer<ExitStatus> ended;
  private final Thread thread;
  private final Reply<Boolean> ready = new Reply<>();
  private final CountDownLatch go = new CountDownLatch(1);
  private final AtomicReference<@Nullable Order> order = new AtomicReference<>();
  private volatile @Nullable Memory memory;
  private final AtomicLong tableBytes = new AtomicLong();
  private volatile long usedNanos;
  private volatile boolean dropped;

  /**
   * @param streams the standard streams that the guest has
   * @param memoryLimit for its memories and tables together
   * @param room how many bytes all modules together may still take
   * @param ended is told the end on the module's thread, as its last deed
   */
  ModuleLoop(
      String name,
      Program program,
      Guest guest,
      ModuleStreams streams,
      long memoryLimit,
      LongSupplier room,
      long stackBytes,
      Consumer<ExitStatus> ended) {
    this.program = program;
    this.guest = guest;
    this.streams = streams;
    this.memoryLimit = memoryLimit;
    this.room = room;
    this.ended = ended;
    this.thread =
        Thread.ofPlatform()
            .daemon()
            .name("wasm-" + name)
            .stackSize(stackBytes)
            .unstarted(this::run);
  }

  /** Makes an instance; the module does not run yet. */
  void prepare() throws InterruptedException {
    thread.start();
    ready.await();
  }

  /** Lets the prepared module run. */
  void go() {
    go.countDown();
  }

  /** Drops a prepared module that shall not run. */
  void drop() {
    dropped = true;
    thread.interrupt();
  }

  /** Ends it as the signal would end a program that handles none. */
  void end(Signal signal) {
    order.compareAndSet(null, new Order.End(signal));
    thread.interrupt();
  }

  /** Ends it because there will be nobody to run it. */
  void agentEnds() {
    order.compareAndSet(null, new Order.AgentEnds());
    thread.interrupt();
  }

  /** Whether the thread has ended by the deadline. */
  boolean awaitEnd(Deadline deadline) throws InterruptedException {
    return thread.join(Duration.ofNanos(Math.max(1, deadline.leftNanos())));
  }

  ModuleStreams streams() {
    return streams;
  }

  long cpuNanos() {
    long now = ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.threadId());
    return Math.max(now, usedNanos);
  }

  long memoryBytes() {
    Memory used = memory;
    return tableBytes.get() + (used == null ? 0 : (long) used.pages() * Memory.PAGE_SIZE);
  }

  private void run() {
    Instance instance;
    try {
      instance =
          Instance.builder(program.module())
              .withImportValues(guest.calls())
              .withMachineFactory(program.machines())
              .withMemoryFactory(new MemoryMaker()::make)
              .withTableFactory(LimitedTable::new)
              .withInitialize(false)
              .build();
    } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
      guest.close();
      ready.fail(new IllegalStateException(reason(e), e));
      return;
    }
    ready.complete(true);
    ExitStatus status = awaitGo() ? execute(instance) : told();
    usedNanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    Thread.interrupted(); // what follows is ours
    guest.close();
    if (!dropped) {
      ended.accept(status);
    }
  }

  private boolean awaitGo() {
    try {
      go.await();
      return true;
    } catch (InterruptedException _) {
      return false;
    }
  }

  private ExitStatus execute(Instance instance) {
    try {
      instance.initialize(false);
      instance.export(Instance.START_FUNCTION_NAME).apply();
      return new ExitStatus.Code(0);
    } catch (WasiExitException e) {
      return new ExitStatus.Code(e.exitCode());
    } catch (OutOfMemoryError e) {
      tell("the agent has no memory left for it");
      return new ExitStatus.OutOfMemory();
    } catch (RuntimeException | StackOverflowError | LinkageError e) {
      if (order.get() != null) {
        return told();
      }
      tell("trap: " + reason(e));
      return new ExitStatus.Signalled(ABORT);
    }
  }

  private ExitStatus told() {
    return switch (order.get()) {
      case Order.End(Signal signal) -> new ExitStatus.Signalled(signal);
      case Order.AgentEnds _ -> new ExitStatus.Unknown("the agent in which it ran was stopped");
      case null -> new ExitStatus.Unknown("its thread was interrupted");
    };
  }

  private void tell(String text) {
    try {
      streams.errors().write((text + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException _) {
      // the log cannot be written; how it ended is told all the same
    }
  }

  private static String reason(Throwable thrown) {
    String text = thrown.getMessage();
    return text == null ? thrown.getClass().getSimpleName() : text;
  }

  /** Counts as memory of the module, however often it grows. */
  private final class LimitedTable extends TableInstance {
    LimitedTable(Table table, int initial) {
      super(affordable(table), initial);
      tableBytes.addAndGet(entries(table.limits().min()));
    }

    @Override
    public int grow(int count, int value, Instance instance) {
      return paid(count, () -> super.grow(count, value, instance));
    }

    @Override
    public int growWithRef(int count, Object value, Instance instance) {
      return paid(count, () -> super.growWithRef(count, value, instance));
    }

    /** Growing fails as the language has it: with -1. */
    private int paid(int count, IntSupplier growing) {
      if (count < 0 || !affordable(count)) {
        return -1;
      }
      int before = growing.getAsInt();
      if (before >= 0) {
        tableBytes.addAndGet(entries(count));
      }
      return before;
    }
  }

  private Table affordable(Table table) {
    if (!affordable(table.limits().min())) {
      throw new IllegalStateException(
          "a table of %d entries is more than its memory limit of %d KiB leaves"
              .formatted(table.limits().min(), memoryLimit / 1024));
    }
    return table;
  }

  /** While a table grows the old one is still there. */
  private boolean affordable(long count) {
    long bytes = entries(count);
    return bytes <= memoryLimit - memoryBytes() && bytes + tableBytes.get() <= room.getAsLong();
  }

  private static long entries(long count) {
    return count * TABLE_ENTRY_BYTES;
  }

  /** Gives all memories of the module together no more than its limit. */
  private final class MemoryMaker {
    private long pagesLeft = memoryLimit / Memory.PAGE_SIZE;

    Memory make(MemoryLimits wanted) {
      if (wanted.initialPages() > pagesLeft) {
        throw new IllegalStateException(
            "it needs %d KiB of memory to begin with, and its limit leaves %d KiB"
                .formatted(wanted.initialPages() * 64L, pagesLeft * 64));
      }
      int most = (int) Math.min(wanted.maximumPages(), pagesLeft);
      pagesLeft -= most;
      var made =
          new ByteArrayMemory(new MemoryLimits(wanted.initialPages(), most, wanted.shared()));
      if (memory == null) {
        memory = made;
      }
      return made;
    }
  }
}

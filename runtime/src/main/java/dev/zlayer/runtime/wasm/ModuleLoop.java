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
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import run.endive.runtime.Instance;
import run.endive.runtime.TableInstance;
import run.endive.wasi.WasiExitException;
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
  private final MemoryAccount account;
  private final Consumer<ExitStatus> ended;
  private final Thread thread;
  private final Reply<Boolean> ready = new Reply<>();
  private final CountDownLatch go = new CountDownLatch(1);
  private final AtomicReference<@Nullable Order> order = new AtomicReference<>();
  private volatile long usedNanos;
  private volatile boolean dropped;

  /**
   * @param streams the standard streams that the guest has
   * @param program released when the module has ended
   * @param account for its memories and tables; closed when the module has ended
   * @param ended is told the end on the module's thread, as its last deed
   */
  ModuleLoop(
      String name,
      Program program,
      Guest guest,
      ModuleStreams streams,
      MemoryAccount account,
      long stackBytes,
      Consumer<ExitStatus> ended) {
    this.program = program;
    this.guest = guest;
    this.streams = streams;
    this.account = account;
    this.ended = ended;
    this.thread =
        Thread.ofPlatform()
            .daemon()
            .name("wasm-" + name)
            .stackSize(stackBytes)
            .unstarted(this::run);
  }

  /** Begins to make an instance; from now on its thread releases what it was given. */
  void launch() {
    thread.start();
  }

  /** Returns when there is an instance; the module does not run yet. */
  void awaitReady() throws InterruptedException {
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
    return account.used();
  }

  private void run() {
    ExitStatus status;
    var interpreter = new InterpreterGuard(account, program.frameBytes());
    try {
      status = instantiateAndExecute(interpreter);
    } finally {
      interpreter.close();
      account.close();
      program.release();
    }
    usedNanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    Thread.interrupted(); // what follows is ours
    guest.close();
    if (status != null && !dropped) {
      ended.accept(status);
    }
  }

  /** Null when there is no instance, which has been reported then. */
  private @Nullable ExitStatus instantiateAndExecute(InterpreterGuard interpreter) {
    Instance instance;
    try {
      if (!account.borrow(program.runBytes())) {
        throw new IllegalStateException(
            "it needs %d KiB to be started; %s"
                .formatted(program.runBytes() / 1024, account.shortage()));
      }
    } catch (RuntimeException e) {
      ready.fail(e);
      return null;
    }
    try {
      instance =
          Instance.builder(program.module())
              .withImportValues(guest.calls())
              .withMachineFactory(program.machines())
              .withMemoryFactory(wanted -> BudgetedMemory.of(wanted, account))
              .withTableFactory(BudgetedTable::new)
              .withUnsafeExecutionListener(interpreter)
              .withInitialize(false)
              .build();
      ready.complete(true);
      return awaitGo() ? execute(instance) : told();
    } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
      ready.fail(new IllegalStateException(reason(e), e));
      return null;
    } finally {
      account.giveBack(program.runBytes());
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
  private final class BudgetedTable extends TableInstance {
    BudgetedTable(Table table, int initial) {
      super(affordable(table), initial);
    }

    @Override
    public int grow(int count, int value, Instance instance) {
      return paid(count, () -> super.grow(count, value, instance));
    }

    @Override
    public int growWithRef(int count, Object value, Instance instance) {
      return paid(count, () -> super.growWithRef(count, value, instance));
    }

    /** Growing fails as the language has it: with -1. While it grows the old entries are kept. */
    private int paid(int count, IntSupplier growing) {
      long old = entries(size());
      if (count < 0 || !account.borrow(old)) {
        return -1;
      }
      try {
        if (!account.take(entries(count))) {
          return -1;
        }
        int before = growing.getAsInt();
        if (before < 0) {
          account.release(entries(count));
        }
        return before;
      } finally {
        account.giveBack(old);
      }
    }
  }

  private Table affordable(Table table) {
    long entries = table.limits().min();
    if (!account.take(entries(entries))) {
      throw new IllegalStateException(
          "a table of %d entries is more than it may have; %s"
              .formatted(entries, account.shortage()));
    }
    return table;
  }

  private static long entries(long count) {
    return count * TABLE_ENTRY_BYTES;
  }
}

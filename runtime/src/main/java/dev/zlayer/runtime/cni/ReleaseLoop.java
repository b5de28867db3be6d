package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes slots down behind the back of those who left them. A slot is recorded as leaving before it
 * comes here, so one that is not finished, because the agent ended or a plugin failed, is taken up
 * by the next agent or tried again.
 *
 * <p>The namespace goes first: the kernel then removes the interfaces of many at once, which is
 * several times faster than to delete each. Its address is given back when the interface is gone.
 */
final class ReleaseLoop implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(ReleaseLoop.class);

  /** How long a process may keep a namespace alive before its interface is cut off. */
  private static final Duration LINK_LIMIT = Duration.ofSeconds(2);

  private static final Duration LINK_PAUSE = Duration.ofMillis(10);
  private static final Backoff RETRY =
      new Backoff(Duration.ofMillis(200), Duration.ofSeconds(30), 2);

  private sealed interface Message {}

  private record Leave(PreparedNamespace slot) implements Message {}

  private record Settle(CountDownLatch settled, boolean despiteFailures) implements Message {}

  private static final class Leaving {
    final PreparedNamespace slot;
    Deadline link = Deadline.none();
    Deadline retry = Deadline.after(Duration.ZERO);
    boolean unmounted;
    int failures;

    Leaving(PreparedNamespace slot) {
      this.slot = slot;
    }
  }

  private final Cni cni;
  private final PreparedNamespaceStore store;
  private final Addresses addresses;
  private final Rules rules;
  private final Consumer<String> steps;
  private final BlockingQueue<Message> inbox = new LinkedBlockingQueue<>();
  private final List<Leaving> leaving = new ArrayList<>();
  private final List<Settle> waiting = new ArrayList<>();
  private final Thread thread;
  private volatile String problem = "";

  ReleaseLoop(
      Cni cni,
      PreparedNamespaceStore store,
      Addresses addresses,
      Rules rules,
      Consumer<String> steps) {
    this.cni = cni;
    this.store = store;
    this.addresses = addresses;
    this.rules = rules;
    this.steps = steps;
    this.thread = Thread.ofVirtual().name("network-release").start(this::run);
  }

  /** The slot must be recorded as leaving. */
  void add(PreparedNamespace slot) {
    inbox.add(new Leave(slot));
  }

  /**
   * Waits until everything that left before is gone.
   *
   * @throws AgentException.Timeout the deadline passed; the message tells the last problem
   */
  void settle(Deadline deadline) throws InterruptedException {
    if (!await(new Settle(new CountDownLatch(1), false), deadline)) {
      throw new AgentException.Timeout(
          "taking down network namespaces" + (problem.isEmpty() ? "" : ": " + problem),
          deadline.limit());
    }
  }

  /** Waits until everything that left before is gone or was tried in vain. */
  void tryAll(Deadline deadline) throws InterruptedException {
    boolean _ = await(new Settle(new CountDownLatch(1), true), deadline);
  }

  private boolean await(Settle settle, Deadline deadline) throws InterruptedException {
    inbox.add(settle);
    return thread.isAlive() && settle.settled().await(deadline.leftNanos(), TimeUnit.NANOSECONDS);
  }

  /** Stops at once; what is left is for the next agent. */
  @Override
  public void close() throws InterruptedException {
    thread.interrupt();
    thread.join();
  }

  private void run() {
    try {
      while (true) {
        receive(next());
        for (Message more = inbox.poll(); more != null; more = inbox.poll()) {
          receive(more);
        }
        for (Leaving one : List.copyOf(leaving)) {
          if (advance(one)) {
            leaving.remove(one);
          }
        }
        answer();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  private void answer() {
    if (leaving.isEmpty()) {
      problem = "";
    }
    boolean tried = leaving.stream().allMatch(one -> one.failures > 0);
    for (Settle settle : List.copyOf(waiting)) {
      if (leaving.isEmpty() || (tried && settle.despiteFailures())) {
        settle.settled().countDown();
        waiting.remove(settle);
      }
    }
  }

  private @Nullable Message next() throws InterruptedException {
    if (leaving.isEmpty()) {
      return inbox.take();
    }
    long pause = LINK_PAUSE.toNanos();
    if (leaving.stream().allMatch(one -> one.failures > 0)) {
      pause = leaving.stream().mapToLong(one -> one.retry.leftNanos()).min().orElse(pause);
    }
    return inbox.poll(pause, TimeUnit.NANOSECONDS);
  }

  private void receive(@Nullable Message message) {
    switch (message) {
      case null -> {}
      case Leave(var slot) -> leaving.add(new Leaving(slot));
      case Settle settle -> waiting.add(settle);
    }
  }

  /** Whether nothing is left of it. */
  private boolean advance(Leaving one) throws InterruptedException {
    if (!one.retry.passed()) {
      return false;
    }
    try {
      if (!one.unmounted) {
        Namespaces.delete(one.slot.netns());
        one.unmounted = true;
        one.link = Deadline.after(LINK_LIMIT);
        steps.accept("namespace deleted");
      }
      if (linked(one.slot) && !one.link.passed()) {
        return false;
      }
      finish(one.slot);
      return true;
    } catch (IOException | RuntimeException e) {
      one.retry = Deadline.after(RETRY.delay(one.failures++));
      problem = String.valueOf(e.getMessage());
      LOG.log(System.Logger.Level.WARNING, "network namespace {0}: {1}", one.slot.id(), problem);
      return false;
    }
  }

  private static boolean linked(PreparedNamespace slot) {
    return slot.hostLink().map(Links::exists).orElse(false);
  }

  private void finish(PreparedNamespace slot) throws IOException, InterruptedException {
    if (slot.hostLink().isPresent()) {
      Links.delete(slot.hostLink().get());
      rules.unbind(slot.hostLink().get());
    }
    if (!addresses.release(slot)) {
      cni.delete(slot.target().withoutNamespace(), slot.chain(), slot.result());
    }
    steps.accept("plugins deleted");
    store.forget(slot);
    steps.accept("slot forgotten");
  }
}

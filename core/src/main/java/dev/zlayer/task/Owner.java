package dev.zlayer.task;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A thread with a mailbox that alone touches one {@link State}.
 *
 * <ul>
 *   <li>Messages that wait are applied together, followed by one {@link State#round}; replies are
 *       given after it. When that fails, each message is applied alone, so a bad one spoils neither
 *       the others nor their replies.
 *   <li>Work that blocks has a thread of its own ({@link #spawn}), and whatever becomes of it is
 *       told to the state.
 *   <li>A state that cannot go on is closed and opened again, at most three times in ten minutes;
 *       then the {@link Supervisor} is told the reason, and everybody who asks.
 * </ul>
 */
public final class Owner<S extends Owner.State> implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(Owner.class);
  private static final int MOST_RESTARTS = 3;
  private static final Duration RESTART_WINDOW = Duration.ofMinutes(10);
  private static final int LARGEST_BATCH = 256;
  private static final Duration UNRESPONSIVE = Duration.ofMinutes(1);
  private static final Duration JOIN_STEP = Duration.ofMillis(5);
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(20), Duration.ofSeconds(5), 2);

  /** What an owner owns. All methods are called on the thread of the owner. */
  public interface State extends AutoCloseable {
    /**
     * Decides, makes durable, acts. Called after messages and when its time has come.
     *
     * @return how long to wait for a message before it is called again
     * @throws AgentException it could not be done now and is tried again; anything else that is
     *     thrown is a fault
     */
    Duration round() throws InterruptedException;

    /** Takes back everything since the last round that returned; false when it cannot. */
    default boolean undo() {
      return false;
    }

    /** Somebody set the wall clock; whatever waits for a time has to wait as long as before. */
    default void clockMoved(Duration by) {}

    /** Nothing is left to be done; the owner ends. */
    default boolean done() {
      return false;
    }

    /** Threads that were spawned are interrupted after it. */
    @Override
    default void close() {}
  }

  /** Makes the state, from what is durable; {@code restarts} counts its deaths of late. */
  @FunctionalInterface
  public interface Opening<S extends State> {
    S open(Owner<S> owner, int restarts) throws InterruptedException;
  }

  /** An {@link AgentException} is a refusal: it is thrown before the first change. */
  @FunctionalInterface
  public interface Question<S, T> {
    T ask(S state) throws InterruptedException;
  }

  /** Something that blocks; returns what the state is told about it. */
  @FunctionalInterface
  public interface Work<S> {
    Consumer<S> run() throws InterruptedException;
  }

  private final String name;
  private final TimeSource time;
  private final Supervisor supervisor;
  private final Opening<S> opening;
  private final ClockShift shift;
  private final BlockingQueue<Message<S, ?>> mailbox = new LinkedBlockingQueue<>();
  private final MessageBatch<S> batch;
  private final Set<Thread> spawned = ConcurrentHashMap.newKeySet();
  private final Deque<Long> deaths = new ArrayDeque<>();
  private final Thread thread;
  private @Nullable S state;
  private final AtomicInteger generation = new AtomicInteger();
  private volatile long busySince;
  private volatile int restarts;
  private volatile Optional<String> lastFault = Optional.empty();
  private volatile boolean failed;
  private volatile boolean finishing;
  private volatile boolean closing;
  private volatile boolean ended;

  private Owner(
      String name,
      TimeSource time,
      Supervisor supervisor,
      Thread.Builder threads,
      Opening<S> opening) {
    this.name = name;
    this.time = time;
    this.supervisor = supervisor;
    this.opening = opening;
    this.shift = new ClockShift(time);
    this.batch = new MessageBatch<>(name, System::nanoTime, this::note);
    this.thread = threads.name(name).unstarted(this::run);
  }

  /** On a virtual thread. Does nothing before {@link #start}. */
  public static <S extends State> Owner<S> of(
      String name, TimeSource time, Supervisor supervisor, Opening<S> opening) {
    return new Owner<>(name, time, supervisor, Thread.ofVirtual(), opening);
  }

  /** On a platform thread, for states in native code, which would pin a virtual one. */
  public static <S extends State> Owner<S> ofNative(
      String name, TimeSource time, Supervisor supervisor, Opening<S> opening) {
    return new Owner<>(name, time, supervisor, Thread.ofPlatform().daemon(), opening);
  }

  /** Opens the state on the caller's thread, and throws what that throws. */
  public Owner<S> start() throws InterruptedException {
    state = opening.open(this, 0);
    supervisor.add(this);
    thread.start();
    return this;
  }

  /** Returns when the round after it has been made; throws what the question threw. */
  public <T> T ask(Question<S, T> question) {
    return send(new Message<>(question, time.nanoTime())).awaitUninterruptibly();
  }

  /**
   * As {@link #ask}, but repeated until it is durable or the owner is closed.
   *
   * @param instead asked after a few failures, so that one thing that cannot be made durable does
   *     not wait for ever
   */
  public <T> Reply<T> report(
      Question<S, T> question, Function<AgentException, Question<S, T>> instead) {
    return send(new Message<>(question, instead, time.nanoTime()));
  }

  /** Returns at once. */
  public void tell(Consumer<S> news) {
    Reply<Boolean> _ = send(message(news));
  }

  /** Makes a round soon. */
  public void wake() {
    tell(_ -> {});
  }

  /**
   * Runs something on a virtual thread of its own. The state is told what it returns, or what
   * {@code failed} makes of its failure, whatever that was; nothing when the owner closes.
   */
  public Thread spawn(String what, Work<S> work, Function<AgentException, Consumer<S>> failed) {
    int of = generation.get();
    Thread made =
        Thread.ofVirtual()
            .name(what)
            .unstarted(
                () -> {
                  Consumer<S> news = outcome(what, work, failed);
                  spawned.remove(Thread.currentThread());
                  if (!closing && of == generation.get()) {
                    tell(state -> toldBy(of, state, news));
                  }
                });
    spawned.add(made);
    made.start();
    return made;
  }

  private Consumer<S> outcome(
      String what, Work<S> work, Function<AgentException, Consumer<S>> failed) {
    try {
      return work.run();
    } catch (InterruptedException _) {
      return failed.apply(new AgentException.Internal(what + " was interrupted"));
    } catch (AgentException e) {
      return failed.apply(e);
    } catch (Throwable e) {
      LOG.log(System.Logger.Level.ERROR, what + " failed", e);
      return failed.apply(fault(what, e));
    }
  }

  /** A state that was opened meanwhile sees by itself what became of it. */
  private void toldBy(int of, S state, Consumer<S> news) {
    if (of == generation.get()) {
      news.accept(state);
    }
  }

  /** Whether anything that was spawned has not ended. */
  public boolean busy() {
    return !spawned.isEmpty();
  }

  /** How many messages were sent and not taken yet. */
  int waiting() {
    return mailbox.size();
  }

  /** Whether the owner is about to end. */
  public boolean closing() {
    return closing;
  }

  public Supervisor.Status status() {
    Message<S, ?> oldest = mailbox.peek();
    long since = oldest == null ? time.nanoTime() : Math.max(oldest.sentAt, busySince);
    boolean stuck = time.nanoTime() - since > UNRESPONSIVE.toNanos();
    return new Supervisor.Status(
        name,
        failed
            ? Supervisor.Condition.FAILED
            : stuck ? Supervisor.Condition.UNRESPONSIVE : Supervisor.Condition.RUNNING,
        restarts,
        lastFault);
  }

  /** Interrupts everything and returns when no thread is left; what was not applied is refused. */
  @Override
  public void close() {
    closing = true;
    thread.interrupt();
    join();
  }

  /** As {@link #close}, after everything that was sent before has been applied. */
  public void finish() {
    finishing = true;
    mailbox.add(message(_ -> {}));
    join();
    close();
  }

  private void join() {
    if (thread.getState() == Thread.State.NEW) {
      ended = true;
      refuseAll();
    } else {
      Threads.join(thread);
    }
  }

  private <T> Reply<T> send(Message<S, T> message) {
    if (finishing) {
      message.reply.fail(gone());
    } else {
      mailbox.add(message);
      if (ended) {
        refuseAll();
      }
    }
    return message.reply;
  }

  private Message<S, Boolean> message(Consumer<S> news) {
    return new Message<>(
        state -> {
          news.accept(state);
          return true;
        },
        time.nanoTime());
  }

  private void run() {
    try {
      boolean going = true;
      while (going && !closing && !state().done()) {
        try {
          going = turn();
        } catch (InterruptedException _) {
          // only closing interrupts; the loop sees it
        } catch (Throwable fault) {
          going = restarted(fault);
        }
      }
    } finally {
      end();
    }
  }

  /** One batch of messages with its round; false when it is the last one. */
  private boolean turn() throws InterruptedException {
    Message<S, ?> first = mailbox.poll(batch.waitNanos(), TimeUnit.NANOSECONDS);
    busySince = time.nanoTime();
    if (first != null) {
      batch.waiting().add(first);
      mailbox.drainTo(batch.waiting(), LARGEST_BATCH - 1);
    }
    Duration moved = shift.moved();
    if (!moved.isZero()) {
      state().clockMoved(moved);
    }
    batch.apply(state());
    return !(finishing && mailbox.isEmpty() && batch.isEmpty());
  }

  /** Opens the state anew; false when it has died too often. */
  private boolean restarted(Throwable first) {
    Throwable fault =
        first instanceof MessageBatch.Died
            ? Objects.requireNonNullElse(first.getCause(), first)
            : first;
    while (!closing) {
      note(fault);
      deaths.removeIf(at -> time.nanoTime() - at > RESTART_WINDOW.toNanos());
      if (deaths.size() >= MOST_RESTARTS) {
        failed = true;
        supervisor.failed("%s died %d times, last of %s".formatted(name, deaths.size() + 1, fault));
        return false;
      }
      deaths.add(time.nanoTime());
      restarts = deaths.size();
      try {
        generation.incrementAndGet();
        closeState();
        Pauses.REAL.pause(RETRY_BACKOFF.delay(deaths.size()));
        state = opening.open(this, deaths.size());
        batch.anew();
        return true;
      } catch (InterruptedException _) {
        return true; // closing
      } catch (Throwable again) {
        fault = again;
      }
    }
    return true;
  }

  private void note(Throwable fault) {
    lastFault = Optional.of(fault.toString());
    LOG.log(System.Logger.Level.ERROR, "a fault in " + name, fault);
  }

  private void end() {
    try {
      generation.incrementAndGet();
      ended = true; // from here on everybody is refused, also those that are waited for below
      batch.refuse(_ -> true, gone());
      refuseAll();
      closeState();
    } finally {
      if (!failed) {
        supervisor.remove(this);
      }
    }
  }

  private void closeState() {
    try {
      state().close();
    } catch (Exception e) {
      LOG.log(System.Logger.Level.WARNING, "cannot close " + name, e);
    }
    List<Thread> left = List.copyOf(spawned);
    left.forEach(Thread::interrupt);
    for (Thread one : left) {
      while (!Threads.join(one, JOIN_STEP)) {
        // it may wait for an answer of the state that is closed
        AgentException reason = new AgentException.Internal(name + " was restarted");
        batch.refuse(left::contains, reason);
        MessageBatch.refuse(mailbox, left::contains, reason);
      }
    }
  }

  private void refuseAll() {
    MessageBatch.refuse(mailbox, _ -> true, gone());
  }

  private S state() {
    if (state == null) {
      throw new IllegalStateException(name + " was not started");
    }
    return state;
  }

  private AgentException gone() {
    return new AgentException.Internal(
        failed
            ? "%s failed: %s".formatted(name, lastFault.orElse("unknown reason"))
            : name + " is closed");
  }

  private static AgentException fault(String what, Throwable cause) {
    return new AgentException.Internal("a fault in %s: %s".formatted(what, cause), cause);
  }
}

package dev.zlayer.task;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Messages in the hands of an {@link Owner}, and what becomes of them when one fails: together if
 * possible, else one by one. Used by one thread.
 */
final class MessageBatch<S extends Owner.State> {
  private static final int TRIES_BEFORE_INSTEAD = 3;
  private static final Backoff RETRY_BACKOFF =
      new Backoff(Duration.ofMillis(20), Duration.ofSeconds(5), 2);

  private final String owner;
  private final LongSupplier nanoClock;
  private final Consumer<Throwable> faults;
  private final Deque<Message<S, ?>> waiting = new ArrayDeque<>();
  private final List<Message<S, ?>> repeated = new ArrayList<>();
  private Duration wait = Duration.ZERO;
  private int failures;

  MessageBatch(String owner, LongSupplier nanoClock, Consumer<Throwable> faults) {
    this.owner = owner;
    this.nanoClock = nanoClock;
    this.faults = faults;
  }

  /** The state cannot be trusted any more; those that were not applied yet are kept. */
  static final class Died extends RuntimeException {
    Died(Throwable cause) {
      super(cause);
    }
  }

  Deque<Message<S, ?>> waiting() {
    return waiting;
  }

  boolean isEmpty() {
    return waiting.isEmpty() && repeated.isEmpty();
  }

  /** How long the owner may wait for a message. */
  long waitNanos() {
    if (!waiting.isEmpty()) {
      return 0;
    }
    long nanos =
        failures > 0 ? RETRY_BACKOFF.delay(failures - 1).toNanos() : Saturating.nanos(wait);
    for (Message<S, ?> message : repeated) {
      nanos = Math.min(nanos, message.nextTry - nanoClock.getAsLong());
    }
    return Math.max(0, nanos);
  }

  /** The next round is due at once. */
  void anew() {
    wait = Duration.ZERO;
    failures = 0;
  }

  /** Applies what waits, makes at least one round, and repeats what is due. */
  void apply(S state) throws InterruptedException {
    int size = waiting.size();
    if (!applied(state, size)) {
      for (int i = 0; i < size; i++) {
        boolean _ = applied(state, 1);
      }
    }
    for (Message<S, ?> message : List.copyOf(repeated)) {
      if (message.nextTry - nanoClock.getAsLong() <= 0) {
        repeated.remove(message);
        waiting.addFirst(message);
        boolean _ = applied(state, 1);
      }
    }
  }

  /** The first {@code size} of those that wait; false when each has to be applied alone. */
  private boolean applied(S state, int size) throws InterruptedException {
    List<Message<S, ?>> batch = waiting.stream().limit(size).toList();
    for (int i = 0; i < size; i++) {
      Optional<Throwable> fault = batch.get(i).put(state);
      if (fault.isPresent()) {
        return spoiled(state, size, i, fault.get());
      }
    }
    try {
      wait = state.round();
      failures = 0;
    } catch (AgentException e) {
      failures++;
      if (size > 0 && state.undo()) {
        if (size == 1) {
          refused(waiting.removeFirst(), state, e);
        }
        return size == 1;
      }
      boolean _ = size == 0 && state.undo();
    } catch (RuntimeException | Error e) {
      if (size > 0 && state.undo()) {
        if (size == 1) {
          fail(waiting.removeFirst(), state, e);
        }
        return size == 1;
      }
      answer(size);
      throw new Died(e);
    }
    answer(size);
    return true;
  }

  private boolean spoiled(S state, int size, int index, Throwable fault) {
    if (state.undo()) {
      if (size == 1) {
        fail(waiting.removeFirst(), state, fault);
      }
      return size == 1;
    }
    answer(index);
    faults.accept(fault);
    Message<S, ?> culprit = waiting.removeFirst();
    culprit.reply.fail(
        new AgentException.Internal("a fault in %s: %s".formatted(owner, fault), fault));
    throw new Died(fault);
  }

  private void answer(int count) {
    for (int i = 0; i < count; i++) {
      waiting.removeFirst().answer();
    }
  }

  private void fail(Message<S, ?> message, S state, Throwable fault) {
    faults.accept(fault);
    refused(
        message,
        state,
        new AgentException.Internal("a fault in %s: %s".formatted(owner, fault), fault));
  }

  private void refused(Message<S, ?> message, S state, AgentException failure) {
    if (!message.lasting()) {
      message.reply.fail(failure);
      return;
    }
    message.tries++;
    if (message.tries < TRIES_BEFORE_INSTEAD || !replaced(message, state, failure)) {
      message.nextTry = nanoClock.getAsLong() + RETRY_BACKOFF.delay(message.tries - 1).toNanos();
      repeated.add(message);
    }
  }

  /** Whether what is asked in its place can be made durable. */
  private boolean replaced(Message<S, ?> message, S state, AgentException failure) {
    try {
      if (message.putInstead(state, failure).isEmpty()) {
        wait = state.round();
        failures = 0;
        message.answer();
        return true;
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      failure.addSuppressed(e);
    }
    boolean _ = state.undo();
    return false;
  }

  /** Refuses those of certain senders. */
  void refuse(Predicate<Thread> senders, AgentException reason) {
    refuse(waiting, senders, reason);
    refuse(repeated, senders, reason);
  }

  static <S> void refuse(
      Collection<Message<S, ?>> messages, Predicate<Thread> senders, AgentException reason) {
    messages.removeIf(
        message -> {
          boolean refused = senders.test(message.sender);
          if (refused) {
            message.reply.fail(reason);
          }
          return refused;
        });
  }
}

package dev.zlayer.task;

import dev.zlayer.error.AgentException;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One question to an {@link Owner} on its way, with the reply that its sender waits for. */
final class Message<S, T> {
  final long sentAt;
  final Thread sender = Thread.currentThread();
  final Reply<T> reply = new Reply<>();
  private final Owner.Question<S, T> question;
  private final @Nullable Function<AgentException, Owner.Question<S, T>> instead;
  private Runnable answer = () -> {};
  int tries;
  long nextTry;

  Message(Owner.Question<S, T> question, long sentAt) {
    this(question, null, sentAt);
  }

  /** With {@code instead} it is repeated when it could not be made durable. */
  Message(
      Owner.Question<S, T> question,
      @Nullable Function<AgentException, Owner.Question<S, T>> instead,
      long sentAt) {
    this.question = question;
    this.instead = instead;
    this.sentAt = sentAt;
  }

  boolean lasting() {
    return instead != null;
  }

  /** Asks; the answer is given later. Returns what was thrown, unless it was a refusal. */
  Optional<Throwable> put(S state) throws InterruptedException {
    return put(state, question);
  }

  Optional<Throwable> putInstead(S state, AgentException failure) throws InterruptedException {
    return instead == null ? Optional.of(failure) : put(state, instead.apply(failure));
  }

  private Optional<Throwable> put(S state, Owner.Question<S, T> asked) throws InterruptedException {
    try {
      T value = asked.ask(state);
      answer = () -> reply.complete(value);
      return Optional.empty();
    } catch (AgentException e) {
      answer = () -> reply.fail(e);
      return Optional.empty();
    } catch (InterruptedException e) {
      throw e;
    } catch (Throwable e) {
      return Optional.of(e);
    }
  }

  void answer() {
    answer.run();
  }
}

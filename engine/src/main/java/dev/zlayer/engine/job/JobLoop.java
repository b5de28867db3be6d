package dev.zlayer.engine.job;

import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.state.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.Reply;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Owns the book. One virtual thread takes what was asked and reported, lets the book decide, makes
 * all decisions of one round durable with one commit, and only then answers and acts. Each run has
 * a thread of its own.
 *
 * <p>When the store fails, what people asked is refused, and what runs reported is tried again: a
 * run waits with its container until its end is on disk.
 */
final class JobLoop implements JobRun.Desk, AutoCloseable {
  private static final int LARGEST_ROUND = 256;
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);
  private static final Backoff STORE_PATIENCE =
      new Backoff(Duration.ofMillis(20), Duration.ofSeconds(5), 2);

  /** A question to the book. */
  @FunctionalInterface
  interface Question<T> {
    T ask(JobBook book, Instant now);
  }

  /** A question on its way; {@code report}s are repeated when the store fails. */
  private static final class Letter<T> {
    private final Question<T> question;
    private final boolean report;
    private final Reply<T> reply = new Reply<>();
    private Runnable answer = () -> {};

    Letter(Question<T> question, boolean report) {
      this.question = question;
      this.report = report;
    }

    /** A refusal must not have changed the book: it is thrown before the first change. */
    void put(JobBook book, Instant now) {
      try {
        T value = question.ask(book, now);
        answer = () -> reply.complete(value);
      } catch (AgentException e) {
        answer = () -> reply.fail(e);
      }
    }
  }

  private record Running(JobRun run, Thread thread) {}

  private final JobParts parts;
  private final JobBook book;
  private final Ledger ledger;
  private final ExecutionView view;
  private final ArtifactStore artifacts;
  private final Harvest harvest;
  private final BlockingQueue<Letter<?>> mailbox = new LinkedBlockingQueue<>();
  private final Map<ExecutionId, Running> runs = new HashMap<>();
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
  private final List<Letter<?>> unsaved = new ArrayList<>();
  private List<Letter<?>> inHand = List.of();
  private final Thread thread;
  private int storeFailures;
  private volatile boolean closing;

  JobLoop(JobParts parts, JobBook book, Ledger ledger, ExecutionView view) {
    this.parts = parts;
    this.book = book;
    this.ledger = ledger;
    this.view = view;
    this.artifacts = new ArtifactStore(parts.artifacts());
    this.harvest = new Harvest(artifacts);
    this.thread = Thread.ofVirtual().name("jobs").unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Looks at the clock again. */
  void wake() {
    mailbox.add(new Letter<>((_, _) -> true, false));
  }

  /** Asks the book; returns when the answer is durable. */
  <T> T ask(Question<T> question) {
    return send(new Letter<>(question, false)).awaitUninterruptibly();
  }

  @Override
  public boolean ready(ExecutionId id, int attempt) throws InterruptedException {
    return send(new Letter<>((b, now) -> b.ready(id, attempt, now), true)).await();
  }

  @Override
  public void step(ExecutionId id, int attempt, StepReport report) {
    send(report((b, now) -> b.step(id, attempt, report, now)));
  }

  @Override
  public void ended(ExecutionId id, int attempt, AttemptEnd end) {
    boolean _ = send(report((b, now) -> b.ended(id, attempt, end, now))).awaitUninterruptibly();
  }

  @Override
  public boolean closing() {
    return closing;
  }

  private static Letter<Boolean> report(BiConsumer<JobBook, Instant> telling) {
    return new Letter<>(
        (book, now) -> {
          telling.accept(book, now);
          return true;
        },
        true);
  }

  private <T> Reply<T> send(Letter<T> letter) {
    mailbox.add(letter);
    if (closing) {
      refuse();
    }
    return letter.reply;
  }

  private void run() {
    try {
      ledger.accept((_, _) -> {}).forEach(this::act);
      while (!closing) {
        inHand = take();
        round(inHand);
      }
    } catch (InterruptedException _) {
      // closing
    } finally {
      closing = true;
      inHand.forEach(letter -> letter.reply.fail(closed()));
      unsaved.forEach(letter -> letter.reply.fail(closed()));
      refuse();
    }
  }

  private List<Letter<?>> take() throws InterruptedException {
    var letters = new ArrayList<>(unsaved);
    unsaved.clear();
    Duration wait = untilNextTick();
    Letter<?> first = mailbox.poll(wait.toNanos(), TimeUnit.NANOSECONDS);
    if (first != null) {
      letters.add(first);
      mailbox.drainTo(letters, LARGEST_ROUND - 1);
    }
    return letters;
  }

  private Duration untilNextTick() {
    if (storeFailures > 0) {
      return STORE_PATIENCE.delay(storeFailures - 1);
    }
    Duration wait = Duration.between(parts.clock().instant(), book.nextTick());
    return wait.isNegative()
        ? Duration.ZERO
        : wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
  }

  private void round(List<Letter<?>> letters) {
    Instant now = parts.clock().instant();
    letters.forEach(letter -> letter.put(book, now));
    book.tick(now);
    Change change = book.change();
    try {
      if (!change.isEmpty()) {
        parts.store().commit(change);
      }
    } catch (AgentException e) {
      notSaved(letters, e);
      return;
    }
    storeFailures = 0;
    List<Effect> effects = ledger.accept(this::publish);
    view.changed();
    letters.forEach(letter -> letter.answer.run());
    effects.forEach(this::act);
  }

  private void publish(ExecutionId id, Optional<Execution> execution) {
    view.publish(id, execution);
    if (execution.map(known -> known.status().finished()).orElse(true)) {
      runs.remove(id);
    }
  }

  private void notSaved(List<Letter<?>> letters, AgentException failure) {
    ledger.forget();
    storeFailures++;
    for (Letter<?> letter : letters) {
      if (letter.report) {
        unsaved.add(letter);
      } else {
        letter.reply.fail(failure);
      }
    }
  }

  private void act(Effect effect) {
    switch (effect) {
      case Effect.Launch(Execution execution) -> launch(execution);
      case Effect.Halt(ExecutionId id, Effect.Why why) -> {
        Running running = runs.get(id);
        if (running != null) {
          running.run().halt(why);
          running.thread().interrupt();
        }
      }
      case Effect.Discard(ExecutionId id) -> spawn("discard " + id, () -> artifacts.drop(id));
      case Effect.Tidy() -> spawn("tidy", this::tidy);
    }
  }

  private void tidy() {
    Leftovers.remove(parts.runtime(), view::find);
    artifacts.dropUnless(id -> view.find(id).isPresent());
  }

  private void launch(Execution execution) {
    var run = new JobRun(parts, this, harvest, execution, book.definition(execution.job()));
    Thread started = spawn("job " + execution.id(), run::run);
    runs.put(execution.id(), new Running(run, started));
  }

  private Thread spawn(String name, Runnable work) {
    Thread spawned =
        Thread.ofVirtual()
            .name(name)
            .unstarted(
                () -> {
                  try {
                    work.run();
                  } catch (AgentException _) {
                    // tidying is tried again; a run's end fails only when the agent ends
                  } finally {
                    threads.remove(Thread.currentThread());
                  }
                });
    threads.add(spawned);
    spawned.start();
    return spawned;
  }

  /** Leaves all containers as they are and returns when no thread of this loop is left. */
  @Override
  public void close() {
    closing = true;
    thread.interrupt();
    Threads.join(thread);
    List<Thread> left = List.copyOf(threads);
    left.forEach(Thread::interrupt);
    Threads.join(left);
  }

  private void refuse() {
    var left = new ArrayList<Letter<?>>();
    mailbox.drainTo(left);
    left.forEach(letter -> letter.reply.fail(closed()));
  }

  private static AgentException closed() {
    return new AgentException.Internal("the job executor is closed");
  }
}

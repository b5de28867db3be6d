package dev.zlayer.engine.service;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.depend.Signal;
import dev.zlayer.engine.state.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Backoff;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Reply;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;

/**
 * Keeps one service true. One virtual thread owns its book: it takes what was asked and reported,
 * looks at what is there, decides, makes the decisions durable, tells the others, and only then
 * lets it be done by {@link EffectLoop}, which reports back.
 *
 * <p>It never relies on a message having come: each round starts from what the runtime says.
 */
public final class ServiceLoop implements AutoCloseable {
  /** What somebody changed behind our back is noticed after this time. */
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  private static final Backoff STORE_PATIENCE =
      new Backoff(Duration.ofMillis(20), Duration.ofSeconds(5), 2);

  /** Something that was asked, or that happened. */
  private record Letter(BiConsumer<ServiceBook, Instant> news, Optional<Reply<Boolean>> reply) {}

  private final ServiceParts parts;
  private final ServiceKey key;
  private final ServiceBook book;
  private final EffectLoop work;
  private final BlockingQueue<Letter> mailbox = new LinkedBlockingQueue<>();
  private final List<Effect> undone = new ArrayList<>();
  private final List<Runnable> answers = new ArrayList<>();
  private final KeyedLock.Held listening;
  private final Thread thread;
  private Instant nextList = Instant.MIN;
  private Optional<Rotation.Members> told = Optional.empty();
  private Optional<Failure> trouble = Optional.empty();

  /** Attempts to publish the members that failed one after the other. */
  private int troubles;

  private Optional<Instant> tellAgain = Optional.empty();
  private int storeFailures;
  private volatile ServiceStatus status;
  private volatile boolean closing;
  private volatile boolean removed;

  private ServiceLoop(ServiceParts parts, ServiceRecord record) {
    this.parts = parts;
    this.key = record.key();
    this.book = new ServiceBook(record, parts.shelf(), parts.random());
    this.work = new EffectLoop(parts, key, this::post);
    this.status = new ServiceView(book, parts.clock().instant()).status(Optional.empty(), 0);
    this.listening = parts.board().onChange(this::wake);
    this.thread = Thread.ofVirtual().name("service " + key).unstarted(this::run);
  }

  /** Goes on with what the store has about the service, or begins with nothing. */
  public static ServiceLoop open(ServiceParts parts, ServiceKey key) {
    ServiceRecord record =
        parts
            .store()
            .find(ServiceCodec.KIND, key.toString())
            .map(ServiceCodec::read)
            .orElseGet(() -> ServiceRecord.fresh(key));
    var loop = new ServiceLoop(parts, record);
    loop.thread.start();
    return loop;
  }

  /** Services that the store has something about. */
  public static List<ServiceKey> stored(dev.zlayer.engine.state.StateStore store) {
    return store.list(ServiceCodec.KIND).stream()
        .map(entry -> ServiceCodec.read(entry.value()).key())
        .toList();
  }

  public ServiceStatus status() {
    return status;
  }

  /** The revisions that it needs to stay known. */
  public List<Long> revisions() {
    ServiceRecord record = book.record();
    var needed = new ArrayList<Long>(List.of(record.revision()));
    record.good().ifPresent(needed::add);
    return needed;
  }

  /**
   * Aims at a revision; at the same one again means to try again what was given up. A removal under
   * way is taken back.
   *
   * @return false when the service was removed meanwhile: a new loop has to be opened
   */
  public boolean aim(long revision) {
    try {
      ask(
          record -> {
            book.aim.stay();
            return record.aimingAt(revision);
          },
          true);
      return true;
    } catch (AgentException.Internal e) {
      if (removed) {
        return false;
      }
      throw e;
    }
  }

  public void stop() {
    ask(record -> record.stopped(true), false);
  }

  public void start() {
    ask(record -> record.stopped(false), true);
  }

  public void restart() {
    ask(ServiceRecord::restarted, true);
  }

  /** Throws {@link AgentException.InvalidSpec} when the file does not leave the number open. */
  public void scale(int replicas) {
    ask(record -> ScaleByHand.scaled(record, book.aim.wantedSpec(), replicas), false);
  }

  /** What the containers are made from may have changed. */
  public void reconsider() {
    post((b, _) -> b.aim.reconsider());
  }

  /** Stops all containers when those who depend on them are gone, and forgets the service. */
  public void remove() {
    post((b, _) -> b.aim.leave(Aim.Leaving.FOR_GOOD));
  }

  /** Stops all containers likewise, and forgets nothing. */
  public void halt() {
    post((b, _) -> b.aim.leave(Aim.Leaving.FOR_NOW));
  }

  /** Looks again. */
  public void wake() {
    post((_, _) -> {});
  }

  private void post(BiConsumer<ServiceBook, Instant> news) {
    mailbox.add(new Letter(news, Optional.empty()));
  }

  /** Returns when the change is durable; throws when it cannot be made so, and is not made. */
  private void ask(UnaryOperator<ServiceRecord> change, boolean anew) {
    var reply = new Reply<Boolean>();
    mailbox.add(new Letter((b, _) -> commitAsked(b, change, anew, reply), Optional.of(reply)));
    if (closing) {
      refuse();
    }
    boolean _ = reply.awaitUninterruptibly();
  }

  private void commitAsked(
      ServiceBook b, UnaryOperator<ServiceRecord> change, boolean anew, Reply<Boolean> reply) {
    ServiceRecord before = b.record();
    int events = b.notes.events();
    try {
      b.notes.replace(change.apply(before));
      commit(b.notes.unsaved());
      b.notes.saved();
      b.aim.reconsider();
      if (anew) {
        b.aim.waitAnew();
      }
      answers.add(() -> reply.complete(true));
    } catch (AgentException e) {
      b.notes.undo(before, events);
      reply.fail(e);
    } catch (RuntimeException | Error e) {
      // a fault of ours: nobody may wait for an answer that will not come
      b.notes.undo(before, events);
      reply.fail(new AgentException.Internal("the service loop failed: " + e, e));
      throw e;
    }
  }

  private void commit(Change change) {
    if (!change.isEmpty()) {
      parts.store().commit(change);
    }
  }

  private void run() {
    try {
      boolean there = true;
      while (!closing && there) {
        there = guarded();
      }
    } catch (InterruptedException _) {
      // closing
    } finally {
      closing = true;
      listening.close();
      refuse();
    }
  }

  /** A fault of ours must not end the supervision: it is shown, and the next round tries again. */
  private boolean guarded() throws InterruptedException {
    try {
      return round();
    } catch (RuntimeException e) {
      var error = new AgentException.Internal("the service loop failed: " + e, e);
      trouble = Optional.of(Failure.of(error, parts.clock().instant()));
      storeFailures++;
      return true;
    } finally {
      answers.forEach(Runnable::run);
      answers.clear();
    }
  }

  /** False when nothing of the service is left. */
  private boolean round() throws InterruptedException {
    take();
    Instant now = parts.clock().instant();
    if (!now.isBefore(nextList)) {
      nextList = now.plus(LONGEST_WAIT);
      undone.addAll(book.found(parts.runtime().list(), now));
    }
    if (book.aim.leaving() != Aim.Leaving.NO && mayLeave() && left()) {
      return false;
    }
    if (book.aim.leaving() == Aim.Leaving.NO || mayLeave()) {
      undone.addAll(book.decide(parts.board().signals(), now));
      work.measure(book, now).ifPresent(undone::add);
    }
    if (!save()) {
      return true;
    }
    publish(now);
    List<Effect> effects = List.copyOf(undone);
    undone.clear();
    effects.forEach(effect -> work.act(effect, book.record()));
    return true;
  }

  private void take() throws InterruptedException {
    Letter first = mailbox.poll(untilNextLook().toNanos(), TimeUnit.NANOSECONDS);
    if (first == null) {
      return;
    }
    var letters = new ArrayList<>(List.of(first));
    mailbox.drainTo(letters);
    Instant now = parts.clock().instant();
    letters.forEach(letter -> letter.news().accept(book, now));
  }

  private Duration untilNextLook() {
    if (storeFailures > 0) {
      return STORE_PATIENCE.delay(storeFailures - 1);
    }
    Instant now = parts.clock().instant();
    Optional<Instant> look = book.notes.takeLookAgain();
    Instant next = look.filter(nextList::isAfter).orElse(nextList);
    next = tellAgain.filter(next::isAfter).orElse(next);
    if (nextList.equals(Instant.MIN) || !now.isBefore(next)) {
      return Duration.ZERO;
    }
    Duration wait = Duration.between(now, next);
    return wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
  }

  private boolean mayLeave() {
    Map<String, Signal> signals = parts.board().signals();
    return parts.audience().dependants(key.service()).stream()
        .allMatch(name -> Optional.ofNullable(signals.get(name)).map(Signal::gone).orElse(true));
  }

  private boolean left() throws InterruptedException {
    if (!book.lives.isEmpty() || work.busy()) {
      return false;
    }
    try {
      parts.rotation().remove(key);
      if (book.aim.leaving() == Aim.Leaving.FOR_GOOD) {
        commit(Change.of(new Change.Delete(ServiceCodec.KIND, key.toString())));
      }
    } catch (AgentException _) {
      storeFailures++;
      return false;
    }
    removed = true;
    parts.board().publish(key.service(), Signal.left(book.record().revision()));
    parts.audience().gone(key.service());
    return true;
  }

  private boolean save() {
    try {
      commit(book.notes.unsaved());
      book.notes.saved();
      storeFailures = 0;
      return true;
    } catch (AgentException _) {
      // nothing was acted on: the same is tried again
      storeFailures++;
      return false;
    }
  }

  private void publish(Instant now) throws InterruptedException {
    var view = new ServiceView(book, now);
    Optional<Rotation.Members> members = view.members();
    boolean late = tellAgain.map(at -> !now.isBefore(at)).orElse(false);
    if (members.isPresent() && (late || !members.equals(told))) {
      told = members;
      tell(members.get(), now);
    }
    parts.board().publish(key.service(), view.signal(trouble.isEmpty()));
    ServiceStatus fresh = view.status(trouble, troubles);
    if (!fresh.equals(status)) {
      status = fresh;
      parts.audience().changed(fresh);
    }
  }

  private void tell(Rotation.Members members, Instant now) throws InterruptedException {
    try {
      parts.rotation().update(members);
      trouble = Optional.empty();
      troubles = 0;
      tellAgain = Optional.empty();
    } catch (AgentException e) {
      trouble = Optional.of(Failure.of(e, now));
      troubles++;
      tellAgain =
          Optional.of(now.plus(RestartPolicy.patience(Math.min(2, troubles - 1), parts.random())));
    }
  }

  /** Leaves all containers as they are and returns when no thread of this loop is left. */
  @Override
  public void close() {
    closing = true;
    thread.interrupt();
    Threads.join(thread);
    work.close();
  }

  private void refuse() {
    var left = new ArrayList<Letter>();
    mailbox.drainTo(left);
    var closed = new AgentException.Internal("the service loop is closed");
    left.forEach(letter -> letter.reply().ifPresent(reply -> reply.fail(closed)));
  }
}

package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Watches one container, tells its end and does what its rules say then. Ends itself when there is
 * nothing more to do; a new one is made when the container is started again.
 */
final class RestartSupervisor implements Owner.State {
  /** A run that lasted this long was a good one, and failures are counted anew. */
  private static final Duration GOOD_RUN = Duration.ofSeconds(10);

  private final Container container;
  private final AfterExit rules;
  private final Book book;
  private final Pauses pauses;
  private final Log log;
  private final CountDownLatch released;
  private Optional<Duration> lease;
  private int failures;
  private boolean done;

  /** What is known and noted of the container beyond the runtime. */
  interface Book {
    boolean stoppedByHand();

    /** Blocks until nobody reads its output. */
    void awaitReaders() throws InterruptedException;

    void ended(Outcome outcome);

    /** Whether its last run was ended because it was unhealthy; asked once for each. */
    boolean unhealthy();

    void restarted();

    void removed();
  }

  private RestartSupervisor(
      Container container,
      Optional<Duration> lease,
      CountDownLatch released,
      AfterExit rules,
      Book book,
      Pauses pauses,
      Log log) {
    this.lease = lease;
    this.released = released;
    this.container = container;
    this.rules = rules;
    this.book = book;
    this.pauses = pauses;
    this.log = log;
  }

  /** The supervision of one container, as others see it. */
  record Handle(Owner<RestartSupervisor> owner, CountDownLatch released) implements AutoCloseable {
    /** Nobody waits for its output any more: it need not stay when it has ended. */
    void release() {
      released.countDown();
    }

    @Override
    public void close() {
      owner.close();
    }
  }

  /**
   * @param lease so long one that was not started yet may stay so
   */
  static Handle start(
      Container container,
      Optional<Duration> lease,
      AfterExit rules,
      Book book,
      Pauses pauses,
      TimeSource time,
      Supervisor supervisor,
      Log log) {
    var released = new CountDownLatch(1);
    try {
      var owner =
          Owner.of(
                  "container " + container.id(),
                  time,
                  supervisor,
                  (Owner<RestartSupervisor> _, int _) ->
                      new RestartSupervisor(container, lease, released, rules, book, pauses, log))
              .start();
      return new Handle(owner, released);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while a container was adopted", e);
    }
  }

  @Override
  public boolean done() {
    return done;
  }

  /** Waits for one end and does what follows; what fails is tried again after a pause. */
  @Override
  public Duration round() throws InterruptedException {
    try {
      if (lease.isPresent() && !started(lease.get())) {
        done = true;
      } else {
        lease = Optional.empty();
        done = !keeps();
      }
    } catch (AgentException.NotFound _) {
      done = true;
    } catch (RuntimeException e) {
      failures++;
      log.warn(
          "cannot supervise",
          Map.of("container", container.id(), "reason", String.valueOf(e.getMessage())));
      pauses.pause(Duration.ofSeconds(Math.min(60, failures)));
    }
    return Duration.ZERO;
  }

  /** Whoever starts it ends this supervision first, so at the end of the lease nobody has. */
  private boolean started(Duration lease) throws InterruptedException {
    pauses.pause(lease);
    try {
      if (!(container.status() instanceof ContainerStatus.Created)) {
        return true;
      }
      container.remove(true);
      book.removed();
      log.info("removed, it was never started", Map.of("container", container.id()));
    } catch (AgentException e) {
      log.warn(
          "could not remove one that was never started",
          Map.of("container", container.id(), "reason", String.valueOf(e.getMessage())));
    }
    return false;
  }

  /** False when there is nothing more to do. */
  private boolean keeps() throws InterruptedException {
    Outcome outcome = container.await(WaitCondition.NOT_RUNNING, Deadline.none());
    book.ended(outcome);
    failures = lasted(outcome) ? 0 : failures;
    boolean stopped = book.stoppedByHand();
    boolean again = book.unhealthy() && !stopped;
    switch (again ? rules.again(failures) : rules.next(outcome.status(), stopped, failures)) {
      case AfterExit.Step.Leave() -> {
        return false;
      }
      case AfterExit.Step.Remove(Duration after) -> {
        boolean _ = released.await(after.toMillis(), TimeUnit.MILLISECONDS);
        book.awaitReaders();
        container.remove(true);
        book.removed();
        log.info("removed after its end", facts(outcome));
        return false;
      }
      case AfterExit.Step.Restart(Duration after) -> {
        pauses.pause(after);
        if (book.stoppedByHand()) {
          return false;
        }
        failures++;
        container.start();
        book.restarted();
        log.info("restarted", facts(outcome));
        return true;
      }
    }
  }

  private Map<String, Object> facts(Outcome outcome) {
    return Map.of("container", container.id(), "ended", outcome.status().text());
  }

  private static boolean lasted(Outcome outcome) {
    return outcome.startedAt().isPresent()
        && outcome.finishedAt().isPresent()
        && Duration.between(outcome.startedAt().get(), outcome.finishedAt().get())
                .compareTo(GOOD_RUN)
            >= 0;
  }
}

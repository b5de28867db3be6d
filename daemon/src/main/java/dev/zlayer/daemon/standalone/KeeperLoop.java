package dev.zlayer.daemon.standalone;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Watches one container, tells its end and does what its labels say then. Ends itself when there is
 * nothing more to do; a new one is made when the container is started again.
 */
final class KeeperLoop implements AutoCloseable {
  /** A run that lasted this long was a good one, and failures are counted anew. */
  private static final Duration GOOD_RUN = Duration.ofSeconds(10);

  /** How long a container that is read is left before its readers are counted again. */
  private static final Duration BETWEEN_READERS = Duration.ofSeconds(1);

  private final Container container;
  private final AfterExit rules;
  private final Book book;
  private final Pauses pauses;
  private final Log log;
  private final CountDownLatch released = new CountDownLatch(1);
  private final Thread thread;

  /** What is known and noted of the container beyond the runtime. */
  interface Book {
    boolean stoppedByHand();

    /** Whether somebody is reading its output. */
    boolean read();

    void ended(Outcome outcome);

    void restarted();

    void removed();
  }

  /**
   * @param lease so long one that was not started yet may stay so
   */
  KeeperLoop(Container container, Optional<Duration> lease, Book book, Pauses pauses, Log log) {
    this.container = container;
    this.rules = AfterExit.read(container.spec().labels());
    this.book = book;
    this.pauses = pauses;
    this.log = log;
    this.thread =
        Thread.ofVirtual()
            .name("keeper-" + container.id())
            .start(
                () -> {
                  try {
                    if (lease.isEmpty() || started(lease.get())) {
                      keep();
                    }
                  } catch (InterruptedException _) {
                    // the agent ends, or the container is removed by somebody
                  }
                });
  }

  /** Nobody waits for its output any more: it need not stay when it has ended. */
  void release() {
    released.countDown();
  }

  /** Whoever starts it ends this loop first, so at the end of the lease nobody has. */
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

  private void keep() throws InterruptedException {
    int failures = 0;
    while (true) {
      try {
        Outcome outcome = container.await(WaitCondition.NOT_RUNNING, Deadline.none());
        book.ended(outcome);
        failures = lasted(outcome) ? 0 : failures;
        switch (rules.next(outcome.status(), book.stoppedByHand(), failures)) {
          case AfterExit.Step.Leave() -> {
            return;
          }
          case AfterExit.Step.Remove(Duration after) -> {
            boolean _ = released.await(after.toMillis(), TimeUnit.MILLISECONDS);
            while (book.read()) {
              pauses.pause(BETWEEN_READERS);
            }
            container.remove(true);
            book.removed();
            log.info("removed after its end", facts(outcome));
            return;
          }
          case AfterExit.Step.Restart(Duration after) -> {
            pauses.pause(after);
            if (book.stoppedByHand()) {
              return;
            }
            failures++;
            container.start();
            book.restarted();
            log.info("restarted", facts(outcome));
          }
        }
      } catch (AgentException.NotFound _) {
        return;
      } catch (AgentException e) {
        failures++;
        log.warn(
            "could not keep",
            Map.of("container", container.id(), "reason", String.valueOf(e.getMessage())));
        pauses.pause(Duration.ofSeconds(Math.min(60, failures)));
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

  @Override
  public void close() {
    thread.interrupt();
    Threads.join(thread);
  }
}

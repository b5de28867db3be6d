package dev.zlayer.image.registry;

import dev.zlayer.error.Durations;
import dev.zlayer.task.Backoff;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * Tries again what is worth it: when a registry is busy or a connection broke, after a wait that
 * grows, or that the registry asked for. An absent image, wrong credentials, unsound content and a
 * host that is not there get no better by asking again.
 */
final class Retries {
  private static final double JITTER = 0.5;

  /** A try that got this much further does not count as a failed one. */
  private static final long PROGRESS = 256 << 10;

  /** One try. */
  @FunctionalInterface
  interface Attempt<T> {
    T run() throws IOException, InterruptedException;
  }

  /** Waits; tests do not. */
  @FunctionalInterface
  interface Pause {
    void pause(Duration time) throws InterruptedException;
  }

  static final Pause REAL = Retries::waitFor;

  private final int attempts;
  private final Backoff backoff;
  private final Duration longest;
  private final RandomGenerator random;
  private final Pause pause;

  Retries(int attempts, Backoff backoff, Duration longest, RandomGenerator random, Pause pause) {
    this.attempts = attempts;
    this.backoff = backoff;
    this.longest = longest;
    this.random = random;
    this.pause = pause;
  }

  <T> T call(Consumer<String> notices, Attempt<T> attempt)
      throws IOException, InterruptedException {
    return call(notices, () -> 0, attempt);
  }

  <T> T call(Consumer<String> notices, LongSupplier position, Attempt<T> attempt)
      throws IOException, InterruptedException {
    int failed = 0;
    while (true) {
      long before = position.getAsLong();
      try {
        return attempt.run();
      } catch (RegistryException e) {
        failed = position.getAsLong() - before >= PROGRESS ? 0 : failed + 1;
        if (!e.problem().passing() || failed >= attempts) {
          throw e;
        }
        Duration wait = wait(e, failed);
        notices.accept("%s; trying again in %s".formatted(e.getMessage(), Durations.print(wait)));
        pause.pause(wait);
      }
    }
  }

  private Duration wait(RegistryException e, int failed) {
    Duration wait =
        e.retryAfter().orElseGet(() -> backoff.delay(Math.max(0, failed - 1), JITTER, random));
    if (wait.isNegative()) {
      return Duration.ZERO;
    }
    Duration bounded = wait.compareTo(longest) > 0 ? longest : wait;
    return Duration.ofMillis(bounded.toMillis());
  }

  private static void waitFor(Duration time) throws InterruptedException {
    boolean early = new CountDownLatch(1).await(time.toNanos(), TimeUnit.NANOSECONDS);
    if (early) {
      throw new IllegalStateException("nobody counts this latch down");
    }
  }
}

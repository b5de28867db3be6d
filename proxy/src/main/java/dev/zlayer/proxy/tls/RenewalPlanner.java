package dev.zlayer.proxy.tls;

import dev.zlayer.task.Backoff;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * When a certificate is asked for next. Pure, so that it can be shown that no failure, no clock and
 * no restart makes it a loop of requests: see its test.
 *
 * @param backoff between orders, growing with failures
 * @param perDay orders for one host in 24 hours, at most
 */
record RenewalPlanner(Backoff backoff, int perDay) {
  static final RenewalPlanner STANDARD =
      new RenewalPlanner(new Backoff(Duration.ofMinutes(1), Duration.ofHours(6), 3), 10);

  private static final Duration DAY = Duration.ofDays(1);
  private static final double BACKOFF_JITTER = 0.2;

  /** From when until when a certificate is valid. */
  record Validity(Instant notBefore, Instant notAfter) {
    Duration lifetime() {
      Duration whole = Duration.between(notBefore, notAfter);
      return whole.isNegative() ? Duration.ZERO : whole;
    }
  }

  /**
   * At two thirds of the lifetime, and up to a 24th later: hosts of one day do not all renew at
   * once.
   */
  static Instant renewal(String host, Validity validity) {
    Duration lifetime = validity.lifetime();
    double share = random(host, validity.notAfter().getEpochSecond()).nextDouble();
    return validity
        .notBefore()
        .plus(lifetime.multipliedBy(2).dividedBy(3))
        .plusMillis((long) (lifetime.dividedBy(24).toMillis() * share));
  }

  /**
   * When the next order may be placed; not after {@code now} when it is due. The same question has
   * the same answer, also after a restart.
   */
  Instant next(String host, OrderHistory recorded, Optional<Validity> validity, Instant now) {
    OrderHistory history = recorded.at(now);
    Instant due = validity.map(one -> renewal(host, one)).orElse(Instant.EPOCH);
    if (history.last().isPresent()) {
      due = later(due, history.last().get().plus(distance(host, history.failures())));
    }
    if (history.orders().size() >= perDay) {
      due = later(due, history.orders().get(history.orders().size() - perDay).plus(DAY));
    }
    return later(due, history.notBefore().orElse(Instant.EPOCH));
  }

  /**
   * What an order that gave a certificate leaves. One that is to be renewed at once is a failure
   * all the same: this clock or that of the authority is wrong, and asking again helps neither.
   */
  OrderHistory obtained(String host, OrderHistory history, Validity validity, Instant now) {
    return renewal(host, validity).isAfter(now.plus(backoff.initial()))
        ? history.succeeded()
        : history.failed(Optional.empty(), now);
  }

  private Duration distance(String host, int failures) {
    Duration full = backoff.delay(Math.max(0, failures - 1));
    double share = 1 + BACKOFF_JITTER * random(host, failures).nextDouble();
    return Duration.ofMillis((long) (full.toMillis() * share));
  }

  private static SplittableRandom random(String host, long salt) {
    return new SplittableRandom(host.hashCode() * 31L + salt);
  }

  private static Instant later(Instant one, Instant other) {
    return one.isAfter(other) ? one : other;
  }
}

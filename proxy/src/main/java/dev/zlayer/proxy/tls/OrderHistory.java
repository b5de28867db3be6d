package dev.zlayer.proxy.tls;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The orders that were placed for a host, durable before each is placed. Pure.
 *
 * @param orders the newest, oldest first
 * @param failures in a row; an order counts as failed until its certificate is there, so that one
 *     that a crash interrupted does too
 * @param notBefore until when the authority asked to wait
 */
record OrderHistory(List<Instant> orders, int failures, Optional<Instant> notBefore) {
  static final OrderHistory NONE = new OrderHistory(List.of(), 0, Optional.empty());

  /** What an authority may ask for; more is an error of one of the two clocks. */
  static final Duration LONGEST_WAIT = Duration.ofDays(7);

  private static final int KEPT = 64;
  private static final int MOST_FAILURES = 1000;

  OrderHistory {
    orders = List.copyOf(orders.subList(Math.max(0, orders.size() - KEPT), orders.size()));
    failures = Math.min(failures, MOST_FAILURES);
  }

  OrderHistory placed(Instant now) {
    var more = new ArrayList<>(orders);
    more.add(now);
    return new OrderHistory(more, failures + 1, Optional.empty());
  }

  OrderHistory failed(Optional<Instant> retryAfter, Instant now) {
    return new OrderHistory(
        orders, failures, retryAfter.map(at -> earlier(at, now.plus(LONGEST_WAIT))));
  }

  OrderHistory succeeded() {
    return new OrderHistory(orders, 0, Optional.empty());
  }

  /** As a clock reads it that may have been set back: nothing happened in the future. */
  OrderHistory at(Instant now) {
    return new OrderHistory(
        orders.stream().map(order -> earlier(order, now)).toList(),
        failures,
        notBefore.map(at -> earlier(at, now.plus(LONGEST_WAIT))));
  }

  /** The wall clock was set; everything was as long ago as before. */
  OrderHistory moved(Duration by) {
    return new OrderHistory(
        orders.stream().map(order -> order.plus(by)).toList(),
        failures,
        notBefore.map(at -> at.plus(by)));
  }

  Optional<Instant> last() {
    return orders.isEmpty() ? Optional.empty() : Optional.of(orders.getLast());
  }

  private static Instant earlier(Instant one, Instant other) {
    return Stream.of(one, other).min(Instant::compareTo).orElseThrow();
  }
}

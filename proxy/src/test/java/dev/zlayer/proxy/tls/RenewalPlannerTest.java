package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.proxy.tls.RenewalPlanner.Validity;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RenewalPlannerTest {
  private static final Instant NOW = Instant.parse("2026-06-01T00:00:00Z");
  private static final Duration DAY = Duration.ofDays(1);
  private static final RenewalPlanner PLANNER = RenewalPlanner.STANDARD;

  @Test
  void aHostWithoutCertificateIsDueAtOnce() {
    assertThat(PLANNER.next("a", OrderHistory.NONE, Optional.empty(), NOW)).isBeforeOrEqualTo(NOW);
  }

  @Test
  void renewsAtTwoThirdsOfTheLifetimeAndALittleLater() {
    var spread = new ArrayList<Instant>();
    for (int host = 0; host < 200; host++) {
      Instant at = PLANNER.next("host-" + host, OrderHistory.NONE, Optional.of(days(0, 90)), NOW);
      assertThat(at)
          .isBetween(NOW.plus(Duration.ofDays(60)), NOW.plus(Duration.ofHours(63 * 24 + 18)));
      spread.add(at);
    }
    assertThat(spread.stream().distinct().count()).as("jitter").isGreaterThan(190);
    assertThat(spread.stream().max(Instant::compareTo).orElseThrow())
        .isAfter(NOW.plus(Duration.ofDays(63)));
  }

  @Test
  void waitsLongerAfterEachFailure() {
    OrderHistory history = OrderHistory.NONE;
    Instant now = NOW;
    var waits = new ArrayList<Duration>();
    for (int order = 0; order < 9; order++) {
      history = history.placed(now).failed(Optional.empty(), now);
      Instant next = PLANNER.next("a", history, Optional.empty(), now);
      waits.add(Duration.between(now, next));
      now = next;
    }
    assertThat(waits.getFirst()).isBetween(Duration.ofSeconds(60), Duration.ofSeconds(72));
    assertThat(waits.get(3)).isBetween(Duration.ofMinutes(27), Duration.ofMinutes(33));
    assertThat(waits.getLast()).isGreaterThanOrEqualTo(Duration.ofHours(6));
  }

  @Test
  void anInterruptedOrderCountsAsFailed() {
    OrderHistory crashed = OrderHistory.NONE.placed(NOW);

    assertThat(PLANNER.next("a", crashed, Optional.empty(), NOW.plusSeconds(59)))
        .isAfterOrEqualTo(NOW.plusSeconds(60));
  }

  @Test
  void waitsAsLongAsTheAuthorityAsksButNotForEver() {
    OrderHistory limited =
        OrderHistory.NONE.placed(NOW).failed(Optional.of(NOW.plus(Duration.ofHours(30))), NOW);
    assertThat(PLANNER.next("a", limited, Optional.empty(), NOW))
        .isEqualTo(NOW.plus(Duration.ofHours(30)));

    OrderHistory absurd =
        OrderHistory.NONE.placed(NOW).failed(Optional.of(NOW.plus(Duration.ofDays(9000))), NOW);
    assertThat(PLANNER.next("a", absurd, Optional.empty(), NOW))
        .isEqualTo(NOW.plus(Duration.ofDays(7)));
  }

  @Test
  void aClockThatIsAheadOfTheAuthorityMakesNoLoop() {
    // this host believes it is a year later: whatever it gets has expired already
    OrderHistory history = OrderHistory.NONE;
    Instant now = NOW.plus(Duration.ofDays(365));
    int orders = 0;
    Instant end = now.plus(DAY);
    while (now.isBefore(end)) {
      history = PLANNER.obtained("a", history.placed(now), days(0, 90), now);
      orders++;
      now = PLANNER.next("a", history, Optional.of(days(0, 90)), now);
    }
    assertThat(orders).isBetween(2, PLANNER.perDay());
  }

  @Test
  void aSuccessEndsTheBackOff() {
    OrderHistory history = OrderHistory.NONE.placed(NOW).placed(NOW).placed(NOW);

    history = PLANNER.obtained("a", history, days(0, 90), NOW);

    assertThat(history.failures()).isZero();
  }

  /**
   * Whatever authority, clock and agent do, no day of the world sees more orders than allowed. Only
   * a clock that is set forward while no agent runs can hide what was ordered; each time it does
   * gives one order more at most, since failures are counted without a clock.
   */
  @Test
  void neverALoopOfRequests() {
    for (long seed = 0; seed < 1000; seed++) {
      simulate(seed, seed % 2 == 0);
    }
  }

  private static void simulate(long seed, boolean jumpsWhileDown) {
    var random = new SplittableRandom(seed);
    Instant real = NOW;
    Duration offset = Duration.ofDays(random.nextInt(-400, 400));
    OrderHistory history = OrderHistory.NONE;
    Optional<Validity> certificate = Optional.empty();
    var orders = new ArrayList<Instant>();
    var hidden = new ArrayList<Instant>();
    int mood = random.nextInt(5); // of the authority
    for (int step = 0; step < 200; step++) {
      Instant wall = real.plus(offset);
      Instant next = PLANNER.next("a", history, certificate, wall);
      if (!next.isAfter(wall)) {
        orders.add(real);
        history = history.placed(wall);
        switch (mood == 4 ? random.nextInt(4) : mood) {
          case 0 -> history = history.failed(Optional.empty(), wall);
          case 1 -> {
            var validity = new Validity(real, real.plusSeconds(random.nextLong(1, 8_000_000)));
            certificate = Optional.of(validity);
            history = PLANNER.obtained("a", history, validity, wall);
          }
          case 2 ->
              history =
                  history.failed(
                      Optional.of(wall.plusSeconds(random.nextLong(-9_000_000, 9_000_000))), wall);
          default -> {} // the agent is killed before it knows
        }
      }
      if (random.nextInt(10) == 0) { // somebody sets the clock while the agent runs
        Duration by = Duration.ofSeconds(random.nextLong(-40_000_000, 40_000_000));
        offset = offset.plus(by);
        history = history.moved(by);
      }
      if (jumpsWhileDown && random.nextInt(40) == 0) {
        offset = offset.plus(Duration.ofSeconds(random.nextLong(-40_000_000, 40_000_000)));
        hidden.add(real);
      }
      real =
          later(real, random, PLANNER.next("a", history, certificate, real.plus(offset)), offset);
    }
    for (Instant from : orders) {
      long allowed = PLANNER.perDay() + count(hidden, from.minus(DAY)) + count(hidden, from);
      if (count(orders, from) > allowed) {
        throw new AssertionError(
            "seed %d: %d orders in the day from %s, allowed are %d"
                .formatted(seed, count(orders, from), from, allowed));
      }
    }
  }

  /** Mostly to the moment at which the planner would act, else some time on. */
  private static Instant later(
      Instant real, SplittableRandom random, Instant next, Duration offset) {
    Instant due = next.minus(offset);
    return random.nextInt(3) > 0
            && due.isAfter(real)
            && due.isBefore(real.plus(Duration.ofDays(30)))
        ? due
        : real.plusSeconds(random.nextLong(1, 20_000));
  }

  private static long count(List<Instant> all, Instant from) {
    return all.stream().filter(at -> !at.isBefore(from) && at.isBefore(from.plus(DAY))).count();
  }

  private static Validity days(int from, int to) {
    return new Validity(NOW.plus(Duration.ofDays(from)), NOW.plus(Duration.ofDays(to)));
  }
}

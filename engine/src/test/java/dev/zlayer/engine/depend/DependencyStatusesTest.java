package dev.zlayer.engine.depend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.depend.DependencyStatus;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DependencyStatusesTest {
  private final DependencyStatuses statuses = new DependencyStatuses();
  private final AtomicInteger calls = new AtomicInteger();

  @Test
  void aChangeReachesThoseWhoFollowItAndNobodyElse() {
    var others = new AtomicInteger();
    statuses.subscribe(calls::incrementAndGet).follow(Set.of("db"));
    statuses.subscribe(others::incrementAndGet).follow(Set.of("cache"));

    statuses.publish("db", DependencyStatus.started(1));

    assertThat(calls).hasValue(1);
    assertThat(others).hasValue(0);
    assertThat(statuses.find("db")).contains(DependencyStatus.started(1));
  }

  @Test
  void theSameStatusAgainIsNoChange() {
    statuses.subscribe(calls::incrementAndGet).follow(Set.of("db"));

    statuses.publish("db", DependencyStatus.started(1));
    statuses.publish("db", DependencyStatus.started(1));

    assertThat(calls).hasValue(1);
  }

  @Test
  void whoeverFollowsSomebodyNewHasToReadWhatWasPublishedBefore() {
    DependencyStatuses.Subscription subscription = statuses.subscribe(calls::incrementAndGet);

    assertThat(subscription.follow(Set.of("db"))).isTrue();
    assertThat(subscription.follow(Set.of("db"))).isFalse();
    assertThat(subscription.follow(Set.of("db", "cache"))).isTrue();
    assertThat(subscription.follow(Set.of("cache"))).as("nobody is new").isFalse();

    statuses.publish("db", DependencyStatus.started(1));
    assertThat(calls).hasValue(0);
    statuses.publish("cache", DependencyStatus.started(1));
    assertThat(calls).hasValue(1);
    subscription.close();
    statuses.publish("cache", DependencyStatus.started(2));
    assertThat(calls).hasValue(1);
  }
}

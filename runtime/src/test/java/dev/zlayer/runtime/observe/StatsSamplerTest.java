package dev.zlayer.runtime.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Stats;
import dev.zlayer.error.AgentException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class StatsSamplerTest {
  private static final ContainerId BOX = ContainerId.of("shop", "web", 1);

  private Instant now = Instant.parse("2024-01-01T00:00:00Z");
  private long cpuNanos;
  private final AtomicInteger reads = new AtomicInteger();
  private final StatsSampler sampler = new StatsSampler(() -> now);

  private Stats read(Instant time) {
    reads.incrementAndGet();
    return new Stats(time, cpuNanos, 0, OptionalLong.empty(), 1, OptionalLong.empty(), 0, 0, 0, 0);
  }

  private void pass(Duration time, long usedNanos) {
    now = now.plus(time);
    cpuNanos += usedNanos;
  }

  @Test
  void answersFromTheLastSampleWithARate() {
    sampler.add(BOX, this::read);
    pass(Duration.ofSeconds(10), 5_000_000_000L);
    sampler.sampleAll();
    pass(Duration.ofSeconds(1), 7);
    assertThat(sampler.sampleOf(BOX).cpuPercent()).hasValue(50.0);
    assertThat(sampler.all().get(BOX).cpuPercent()).hasValue(50.0);
    assertThat(reads).hasValue(2);
  }

  @Test
  void anOldSampleIsNotGivenOut() {
    sampler.add(BOX, this::read);
    pass(Duration.ofSeconds(4), 8_000_000_000L);
    assertThat(sampler.sampleOf(BOX).cpuPercent()).hasValue(200.0);
  }

  @Test
  void readingsInShortSuccessionKeepTheLongerSpan() {
    sampler.add(BOX, this::read);
    pass(Duration.ofSeconds(1), 1_000_000_000L);
    sampler.sampleAll();
    pass(Duration.ofMillis(1), 0);
    sampler.sampleAll();
    assertThat(sampler.sampleOf(BOX).cpuPercent().orElseThrow()).isBetween(99.0, 100.0);
  }

  @Test
  void aContainerThatEndedIsDropped() {
    sampler.add(
        BOX,
        _ -> {
          throw new NoSuchFileException("gone");
        });
    assertThat(sampler.all()).isEmpty();
    assertThatThrownBy(() -> sampler.sampleOf(BOX))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("does not run");
  }

  @Test
  void onlyContainersThatSomebodyAskedForAreReadOften() {
    ContainerId other = ContainerId.of("shop", "web", 2);
    sampler.watch(BOX, this::read);
    sampler.watch(other, this::read);
    sampler.sampleAsked(now);
    assertThat(reads).as("nobody asked").hasValue(0);

    sampler.sampleOf(other);
    reads.set(0);
    sampler.sampleAsked(now);
    assertThat(reads).as("one was asked for").hasValue(1);

    sampler.all();
    reads.set(0);
    sampler.sampleAsked(now);
    assertThat(reads).as("all were asked for").hasValue(2);

    pass(Duration.ofMinutes(1), 0);
    reads.set(0);
    sampler.sampleAsked(now.minusSeconds(30));
    assertThat(reads).as("interest ends").hasValue(0);
  }

  /** The time that idle containers cost must not grow with their number. */
  @Test
  void theMoreContainersNobodyAsksForTheMoreSeldomAllAreRead() {
    for (int replica = 1; replica <= 1_000; replica++) {
      sampler.watch(ContainerId.of("shop", "web", replica), this::read);
    }
    try (var _ =
        SamplerLoop.start(sampler, () -> now, Duration.ofMillis(1), Duration.ofMillis(5))) {
      await().untilAsserted(() -> assertThat(reads).hasValue(1_000));
      await()
          .during(Duration.ofMillis(300))
          .untilAsserted(() -> assertThat(reads).as("in 60 short periods").hasValue(1_000));
    }
  }

  @Test
  void theLoopSamplesOftenWhileSomebodyAsks() {
    var real = new StatsSampler(InstantSource.system());
    real.add(BOX, this::read);
    real.all();
    try (var _ =
        SamplerLoop.start(real, InstantSource.system(), Duration.ofMillis(5), Duration.ofDays(1))) {
      await().untilAsserted(() -> assertThat(reads).hasValueGreaterThan(4));
    }
  }
}

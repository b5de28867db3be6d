package dev.zlayer.daemon.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.host.linux.NodeUsage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MetricHistoryTest {
  private static final ContainerId WEB = ContainerId.of("shop", "web", 1);
  private static final ContainerId OTHER = ContainerId.of("shop", "web", 2);

  @TempDir Path directory;
  private Path file;
  private Instant now = Instant.ofEpochSecond(1_800_000_000L);
  private MetricHistory history;

  @BeforeEach
  void open() {
    file = directory.resolve("history");
    history = MetricHistory.open(file, this::usage, now, Log.silent());
  }

  private NodeUsage usage() {
    long seconds = now.getEpochSecond() - 1_800_000_000L;
    return new NodeUsage(now, seconds * 1.5, 1 << 20, 0, 0, 0, 100 * seconds, 5_000_000);
  }

  private void sample(ContainerId id, long cpuNanosPerSecond) {
    Stats old = stats(now.minusSeconds(10), 0);
    history.sampled(id, new StatsSample(stats(now, 10 * cpuNanosPerSecond), Optional.of(old)));
  }

  private static Stats stats(Instant time, long cpuNanos) {
    return new Stats(
        time, cpuNanos, 4096, OptionalLong.empty(), 1, OptionalLong.empty(), 0, 0, 0, 0);
  }

  @Test
  void keepsWhatTheNodeUses() {
    history.sampledAll(now);
    now = now.plusSeconds(10);
    history.sampledAll(now);

    MetricHistory.View view = history.node("1h", now);

    assertThat(view.cpuPercent()).contains(150.0);
    assertThat(view.blockWriteBytesPerSecond()).contains(100L);
    assertThat(view.diskUsedBytes()).contains(5_000_000L).hasSameSizeAs(view.time());
  }

  @Test
  void addsUpTheReplicasOfAService() {
    now = now.plusSeconds(20);
    sample(WEB, 500_000_000);
    sample(OTHER, 250_000_000);

    MetricHistory.View view =
        history.containers("shop/web", List.of(WEB, OTHER, ContainerId.of("a", "b", 1)), "1h", now);

    assertThat(view.cpuPercent()).contains(75.0);
    assertThat(view.memoryBytes()).contains(8192L);
    assertThat(view.diskUsedBytes()).isEmpty();
  }

  @Test
  void survivesARestartAndADamagedFile() throws IOException {
    sample(WEB, 500_000_000);
    history.close();

    open();
    assertThat(history.containers("one", List.of(WEB), "24h", now).cpuPercent()).contains(50.0);
    assertThat(history.damaged()).isFalse();

    byte[] bytes = Files.readAllBytes(file);
    bytes[40] ^= 1;
    Files.write(file, bytes);
    open();
    assertThat(history.containers("one", List.of(WEB), "24h", now).time()).isEmpty();
    assertThat(history.damaged()).isTrue();
    sample(WEB, 1);
    history.close();
    open();
    assertThat(history.damaged()).isFalse();
  }

  @Test
  void staysSmallWithManyContainers() throws IOException {
    for (int index = 0; index < MetricHistory.MOST_CONTAINERS + 100; index++) {
      sample(ContainerId.of("many", "one", index + 1), 1_000_000);
    }
    for (int minute = 0; minute < 60 * 25; minute += 5) {
      now = now.plusSeconds(300);
      sample(ContainerId.of("many", "one", 1), 1_000_000);
      sample(ContainerId.of("many", "one", 2), 1_000_000);
      history.sampledAll(now);
    }
    history.close();

    assertThat(Files.size(file)).isLessThan(100_000); // the others have ended a day ago
    for (int index = 0; index < MetricHistory.MOST_CONTAINERS + 100; index++) {
      for (int step = 0; step < 3; step++) {
        now = now.plusSeconds(step == 0 ? 0 : 700);
        sample(ContainerId.of("more", "one", index + 1), 1_000_000);
        now = now.minusSeconds(step == 2 ? 1400 : 0);
      }
    }
    history.close();
    assertThat(Files.size(file)).isLessThan(8_000_000);
  }

  @Test
  void aNewContainerReplacesOneThatEnded() {
    for (int index = 0; index < MetricHistory.MOST_CONTAINERS; index++) {
      sample(ContainerId.of("many", "one", index + 1), 1_000_000);
    }
    sample(WEB, 1_000_000);
    assertThat(history.containers("web", List.of(WEB), "1h", now).time()).isEmpty();

    now = now.plusSeconds(600);
    sample(WEB, 1_000_000);
    assertThat(history.containers("web", List.of(WEB), "1h", now).time()).isNotEmpty();
  }
}

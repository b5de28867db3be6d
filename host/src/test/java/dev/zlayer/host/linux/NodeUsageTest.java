package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class NodeUsageTest {
  @Test
  void readsWhatTheKernelCounts() {
    NodeUsage usage =
        NodeUsage.parse(
            Instant.EPOCH,
            List.of("cpu  100 10 40 9000 800 5 5 40 100 10", "cpu0 1 2 3 4"),
            List.of("MemTotal:       1000 kB", "MemFree: 10 kB", "MemAvailable:    400 kB"),
            List.of("  eth0: 70 1 0 0 0 0 0 0 90 1 0 0 0 0 0 0", "    lo: 5 1 0 0 0 0 0 0 5 1"),
            List.of("pgpgin 3", "pgpgout 4", "pgpgouts 99"),
            7);

    assertThat(usage)
        .isEqualTo(new NodeUsage(Instant.EPOCH, 2.0, 600 * 1024, 70, 90, 3072, 4096, 7));
  }

  @Test
  void readsThisMachine() {
    NodeUsage usage = NodeUsage.read(Path.of("/"), Instant.EPOCH);

    assertThat(usage.cpuSeconds()).isPositive();
    assertThat(usage.memoryBytes()).isPositive();
    assertThat(usage.diskUsedBytes()).isPositive();
  }
}

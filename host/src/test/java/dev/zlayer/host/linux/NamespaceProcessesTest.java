package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class NamespaceProcessesTest {
  private static final String NO_TICK = "7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0";
  private static final String FIVE_TICKS = "7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 2 20 0";

  @Test
  void aLifeShorterThanATickHasUsedTheProcessor() {
    assertThat(NamespaceProcesses.cpuNanos(NO_TICK, "3456789 1000 2\n")).isEqualTo(3_456_789);
  }

  @Test
  void threadsAndChildrenCountInTicks() {
    assertThat(NamespaceProcesses.cpuNanos(FIVE_TICKS, "3456789 1000 2\n")).isEqualTo(50_000_000);
  }

  @Test
  void aKernelWithoutTheScheduleHasTicksOnly() {
    assertThat(NamespaceProcesses.cpuNanos(FIVE_TICKS, "")).isEqualTo(50_000_000);
  }
}

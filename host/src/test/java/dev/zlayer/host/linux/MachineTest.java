package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class MachineTest {
  @Test
  void readsTheKernelsOwnWords() {
    assertThat(Machine.memoryBytes(List.of("MemTotal:       2048 kB", "MemFree: 7 kB")))
        .isEqualTo(2048 * 1024);
    assertThat(Machine.effectiveUser(List.of("Name:\tx", "Uid:\t1000\t0\t1000\t1000"))).isZero();
  }

  @Test
  void thisMachineHasAKernelAndMemory() {
    assertThat(Machine.kernel()).containsPattern("^\\d+\\.\\d+");
    assertThat(Machine.architecture()).matches("[a-z0-9_]+");
    assertThat(Machine.memoryBytes()).isGreaterThan(1 << 20);
    assertThat(Machine.knowsFileSystem("proc")).isTrue();
    assertThat(Machine.knowsFileSystem("no such one")).isFalse();
  }
}

package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MachineTest {
  @Test
  void readsTheKernelsOwnWords() {
    assertThat(Machine.memoryBytes(List.of("MemTotal:       2048 kB", "MemFree: 7 kB")))
        .isEqualTo(2048 * 1024);
    assertThat(Machine.effectiveUser(List.of("Name:\tx", "Uid:\t1000\t0\t1000\t1000"))).isZero();
  }

  @Test
  void theHeatOfEveryProcessorIsFound(@TempDir Path processors) throws IOException {
    for (String name :
        List.of("cpu0/thermal_throttle", "cpu11/thermal_throttle", "cpu2/topology")) {
      Files.createDirectories(processors.resolve(name));
    }
    assertThat(Machine.thermalThrottles(processors))
        .containsExactly(
            processors + "/cpu0/thermal_throttle", processors + "/cpu11/thermal_throttle");
    assertThat(Machine.thermalThrottles(processors.resolve("none"))).isEmpty();
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

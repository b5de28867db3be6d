package dev.zlayer.engine.translate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.GpuRequest.Sharing;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class GpuSectionTest {
  private static GpuRequest request(String gpu) {
    var service = ServiceTranslatorTest.definition("resources: {gpu: {" + gpu + "}}").service();
    return GpuSection.of(service.resources()).orElseThrow();
  }

  @Test
  void limitsOnASharedGpu() {
    assertThat(request("sharing: mps, mps_log_dir: /l, mps_memory: 2Gi, mps_threads: 25").sharing())
        .isEqualTo(
            new Sharing.Mps(
                Optional.of(Path.of("/tmp/nvidia-mps")),
                Optional.of(Path.of("/l")),
                OptionalLong.of(2L << 30),
                OptionalInt.of(25)));
    assertThat(request("model: A100, sharing: mps"))
        .isEqualTo(
            new GpuRequest(
                1,
                "nvidia",
                Optional.of("A100"),
                new Sharing.Mps(
                    Optional.empty(),
                    Optional.empty(),
                    OptionalLong.empty(),
                    OptionalInt.empty())));
    assertThat(request("sharing: time-slice, time_slice: short").sharing())
        .isEqualTo(
            new Sharing.TimeSlice(
                OptionalInt.empty(), Optional.empty(), Optional.of(Sharing.Turn.SHORT)));
  }

  @Test
  void namedDevices() {
    assertThat(request("devices: [\"0\", GPU-ab]").devices()).containsExactly("0", "GPU-ab");
    assertThat(request("devices: [all]").all()).isTrue();
  }
}

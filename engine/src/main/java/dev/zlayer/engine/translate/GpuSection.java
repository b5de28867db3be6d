package dev.zlayer.engine.translate;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.GpuRequest.Sharing;
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.resources.ResourcesSpec;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/** Graphics processors. */
final class GpuSection {
  private static final String PIPES = "/tmp/nvidia-mps";
  private static final String LOGS = "/tmp/nvidia-log";

  private GpuSection() {}

  static Optional<GpuRequest> of(ResourcesSpec resources) {
    return resources
        .gpu()
        .map(
            gpu ->
                new GpuRequest(
                    gpu.count(),
                    gpu.vendor().name().toLowerCase(Locale.ROOT),
                    gpu.model(),
                    sharing(gpu)));
  }

  private static Sharing sharing(GpuSpec gpu) {
    return switch (gpu.effectiveSharing().orElse(GpuSpec.Sharing.EXCLUSIVE)) {
      case EXCLUSIVE -> new Sharing.Exclusive();
      case MPS ->
          new Sharing.Mps(
              Path.of(gpu.mpsPipeDir().orElse(PIPES)), Path.of(gpu.mpsLogDir().orElse(LOGS)));
      case TIME_SLICE ->
          new Sharing.TimeSlice(
              gpu.timeSliceIndex().map(OptionalInt::of).orElse(OptionalInt.empty()),
              gpu.timeSlicingConfigPath().map(Path::of));
    };
  }
}

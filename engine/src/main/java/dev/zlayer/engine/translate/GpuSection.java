package dev.zlayer.engine.translate;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.GpuRequest.Sharing;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.value.ByteSize;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Graphics processors. */
final class GpuSection {
  private static final String PIPES = "/tmp/nvidia-mps";
  private static final String LOGS = "/tmp/nvidia-log";

  private GpuSection() {}

  static Optional<GpuRequest> of(ResourcesSpec resources) {
    return resources
        .gpu()
        .map(GpuSection::consistent)
        .map(
            gpu ->
                new GpuRequest(
                    gpu.count(),
                    gpu.vendor().name().toLowerCase(Locale.ROOT),
                    gpu.model(),
                    gpu.devices().orElse(List.of()),
                    sharing(gpu)));
  }

  /** A single container comes without the checks of a deployment file. */
  private static GpuSpec consistent(GpuSpec gpu) {
    GpuSpec.Sharing sharing = gpu.effectiveSharing().orElse(GpuSpec.Sharing.EXCLUSIVE);
    List<String> devices = gpu.devices().orElse(List.of());
    if (sharing != GpuSpec.Sharing.MPS) {
      only("mps_memory", gpu.mpsMemory(), "mps");
      only("mps_threads", gpu.mpsThreads(), "mps");
      only("mps_pipe_dir", gpu.mpsPipeDir(), "mps");
      only("mps_log_dir", gpu.mpsLogDir(), "mps");
    }
    if (sharing != GpuSpec.Sharing.TIME_SLICE) {
      only("time_slice", gpu.timeSlice(), "time-slice");
      only("time_slice_index", gpu.timeSliceIndex(), "time-slice");
      only("time_slicing_config_path", gpu.timeSlicingConfigPath(), "time-slice");
    }
    if (sharing != GpuSpec.Sharing.EXCLUSIVE && gpu.vendor() != GpuSpec.Vendor.NVIDIA) {
      throw misfit("sharing", "is only for vendor nvidia, write exclusive");
    }
    if (sharing != GpuSpec.Sharing.EXCLUSIVE && gpu.count() > 1) {
      throw misfit("count", "a shared gpu is one gpu, write 1");
    }
    if (!devices.isEmpty() && (gpu.count() > 1 || gpu.timeSliceIndex().isPresent())) {
      throw misfit("devices", "stands for the number too, remove one of them");
    }
    if (devices.contains(GpuRequest.ALL) && devices.size() > 1) {
      throw misfit("devices", "all is every device, remove the others");
    }
    return gpu;
  }

  private static void only(String key, Optional<?> value, String sharing) {
    if (value.isPresent()) {
      throw misfit(key, "is only for sharing: %s, write that or remove it".formatted(sharing));
    }
  }

  private static AgentException misfit(String key, String reason) {
    return new AgentException.InvalidSpec("resources.gpu.%s: %s".formatted(key, reason));
  }

  private static Sharing sharing(GpuSpec gpu) {
    boolean external = gpu.mpsPipeDir().isPresent() || gpu.mpsLogDir().isPresent();
    return switch (gpu.effectiveSharing().orElse(GpuSpec.Sharing.EXCLUSIVE)) {
      case EXCLUSIVE -> new Sharing.Exclusive();
      case MPS ->
          new Sharing.Mps(
              external ? Optional.of(Path.of(gpu.mpsPipeDir().orElse(PIPES))) : Optional.empty(),
              external ? Optional.of(Path.of(gpu.mpsLogDir().orElse(LOGS))) : Optional.empty(),
              gpu.mpsMemory()
                  .map(ByteSize::bytes)
                  .map(OptionalLong::of)
                  .orElse(OptionalLong.empty()),
              gpu.mpsThreads().map(OptionalInt::of).orElse(OptionalInt.empty()));
      case TIME_SLICE ->
          new Sharing.TimeSlice(
              gpu.timeSliceIndex().map(OptionalInt::of).orElse(OptionalInt.empty()),
              gpu.timeSlicingConfigPath().map(Path::of),
              gpu.timeSlice().map(turn -> Sharing.Turn.valueOf(turn.name())));
    };
  }
}

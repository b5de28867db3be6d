package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.resources.GpuSpec.Mode;
import dev.zlayer.spec.resources.GpuSpec.Sharing;
import dev.zlayer.spec.resources.GpuSpec.Vendor;
import java.util.List;
import java.util.Optional;

/** Settings of graphics processors that belong together. */
final class GpuCheck {
  private GpuCheck() {}

  static void check(ServiceSpec service, SpecPath servicePath, Findings findings) {
    SpecPath path = servicePath.key("resources").key("gpu");
    service.resources().gpu().ifPresent(gpu -> check(gpu, path, findings));
  }

  private static void check(GpuSpec gpu, SpecPath path, Findings findings) {
    if (!findings.clean(path.key("sharing")) || !findings.clean(path.key("vendor"))) {
      return;
    }
    Optional<Sharing> sharing = gpu.effectiveSharing();
    only(
        List.of("mps_pipe_dir", "mps_log_dir", "mps_memory", "mps_threads"),
        Sharing.MPS,
        "mps",
        sharing,
        path,
        findings);
    only(
        List.of("time_slice_index", "time_slicing_config_path", "time_slice"),
        Sharing.TIME_SLICE,
        "time-slice",
        sharing,
        path,
        findings);
    boolean shared = sharing.isPresent() && sharing.get() != Sharing.EXCLUSIVE;
    if (shared && gpu.vendor() != Vendor.NVIDIA) {
      findings.problem(path.key("sharing"), "is only for vendor nvidia, write exclusive");
    }
    if (shared && gpu.count() > 1) {
      findings.problem(path.key("count"), "a shared gpu is one gpu, write 1");
    }
    named(gpu, path, findings);
    boolean mps = gpu.mode().filter(Mode.MPS::equals).isPresent();
    if (mps && gpu.sharing().filter(one -> one != Sharing.MPS).isPresent()) {
      findings.problem(path.key("mode"), "means sharing: mps, remove one of them");
    }
    if (gpu.mode().isPresent() && !mps && gpu.vendor() != Vendor.APPLE) {
      findings.problem(path.key("mode"), "is only for vendor apple, remove it");
    }
  }

  private static void named(GpuSpec gpu, SpecPath path, Findings findings) {
    List<String> devices = gpu.devices().orElse(List.of());
    if (gpu.devices().isPresent() && devices.isEmpty()) {
      findings.problem(path.key("devices"), "is empty, name a device or write all");
    }
    if (devices.contains("all") && devices.size() > 1) {
      findings.problem(path.key("devices"), "all is every device, remove the others");
    }
    if (devices.stream().distinct().count() < devices.size()) {
      findings.problem(path.key("devices"), "names a device twice, remove one");
    }
    for (String key : List.of("count", "time_slice_index")) {
      if (gpu.devices().isPresent() && findings.written(path.key(key))) {
        findings.problem(path.key(key), "devices are named already, remove one of them");
      }
    }
  }

  private static void only(
      List<String> keys,
      Sharing needed,
      String word,
      Optional<Sharing> sharing,
      SpecPath path,
      Findings findings) {
    for (String key : keys) {
      if (findings.written(path.key(key)) && !sharing.equals(Optional.of(needed))) {
        findings.problem(
            path.key(key), "is only for sharing: %s, write that or remove it".formatted(word));
      }
    }
  }
}

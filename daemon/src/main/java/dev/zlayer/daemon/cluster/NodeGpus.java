package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.runtime.oci.gpu.Gpus;
import dev.zlayer.spec.resources.GpuSpec;
import java.util.List;
import java.util.Optional;

/** The GPUs of this node, as its cluster places them. Pure. */
final class NodeGpus {
  private NodeGpus() {}

  /** Those whose vendor a deployment file can ask for. */
  static List<NodeFacts.Gpu> of(List<Gpus.Listed> found) {
    return found.stream().flatMap(one -> gpu(one).stream()).toList();
  }

  private static Optional<NodeFacts.Gpu> gpu(Gpus.Listed one) {
    return vendor(one.kind())
        .map(
            vendor ->
                new NodeFacts.Gpu(
                    one.name(), one.uuid().orElse(""), vendor, one.model().orElse("")));
  }

  private static Optional<GpuSpec.Vendor> vendor(String kind) {
    return switch (kind) {
      case "nvidia.com/gpu" -> Optional.of(GpuSpec.Vendor.NVIDIA);
      case "amd.com/gpu" -> Optional.of(GpuSpec.Vendor.AMD);
      case "intel.com/gpu" -> Optional.of(GpuSpec.Vendor.INTEL);
      default -> Optional.empty();
    };
  }
}

package dev.zlayer.spec.resources;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.TextForm;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.CpuSet;
import java.util.Optional;

/** Limits and reservations of one container. */
@Doc("Limits and reservations of each container.")
public record ResourcesSpec(
    @Doc("CPU limit, e.g. 0.5.") Optional<Double> cpu,
    @Doc("Memory limit.") Optional<ByteSize> memory,
    @Doc("GPUs.") Optional<GpuSpec> gpu,
    @Doc("Limit of processes and threads; -1 for no limit.") @Range(min = -1)
        Optional<Long> pidsLimit,
    @Doc("CPUs to run on, e.g. 0-3,6.") Optional<CpuSet> cpuset,
    @Doc("CPU weight relative to other containers (default: 1024).") @Range(min = 2, max = 262_144)
        Optional<Integer> cpuShares,
    @Doc("Limit of memory plus swap; -1 for unlimited swap.") Optional<SwapLimit> memorySwap,
    @Doc("Memory reservation (soft limit).") Optional<ByteSize> memoryReservation,
    @Doc("Swappiness (0 to 100).") @Range(min = 0, max = 100) Optional<Integer> memorySwappiness,
    @Doc("OOM score adjustment (default: 0).") @Range(min = -1000, max = 1000)
        Optional<Integer> oomScoreAdj,
    @Doc("Disable the OOM killer.") Optional<Boolean> oomKillDisable,
    @Doc("Block I/O weight.") @Range(min = 10, max = 1000) Optional<Integer> blkioWeight) {
  /** Without what chooses a node. */
  public ResourcesSpec placed() {
    return new ResourcesSpec(
        cpu,
        memory,
        gpu.map(GpuSpec::placed),
        pidsLimit,
        cpuset,
        cpuShares,
        memorySwap,
        memoryReservation,
        memorySwappiness,
        oomScoreAdj,
        oomKillDisable,
        blkioWeight);
  }

  /** A size, or no limit. */
  @TextForm(
      is = "a size or -1",
      example = "1Gi",
      pattern = "^(-1|[0-9]+(\\.[0-9]+)?\\s*(B|[kKMGTPE]i?B?)?)$",
      number = true)
  public record SwapLimit(Optional<ByteSize> size) {
    public static SwapLimit parse(String text) {
      return new SwapLimit(
          text.equals("-1") ? Optional.empty() : Optional.of(ByteSize.parse(text)));
    }
  }
}

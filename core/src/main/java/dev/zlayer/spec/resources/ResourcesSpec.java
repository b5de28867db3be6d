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
    @Doc("Processors, such as 0.5.") Optional<Double> cpu,
    @Doc("Memory limit.") Optional<ByteSize> memory,
    @Doc("Graphics processors.") Optional<GpuSpec> gpu,
    @Doc("Most processes and threads; -1 for no limit.") @Range(min = -1) Optional<Long> pidsLimit,
    @Doc("Processors it may run on, such as 0-3,6.") Optional<CpuSet> cpuset,
    @Doc("Weight when processors are short; 1024 is usual.") @Range(min = 2, max = 262_144)
        Optional<Integer> cpuShares,
    @Doc("Limit of memory and swap together; -1 for no limit on swap.")
        Optional<SwapLimit> memorySwap,
    @Doc("Memory that is kept for it when memory is short.") Optional<ByteSize> memoryReservation,
    @Doc("How readily memory is swapped.") @Range(min = 0, max = 100)
        Optional<Integer> memorySwappiness,
    @Doc("How readily it is killed when memory is short; 0 when absent.")
        @Range(min = -1000, max = 1000)
        Optional<Integer> oomScoreAdj,
    @Doc("Never kill it when memory is short.") Optional<Boolean> oomKillDisable,
    @Doc("Weight when disks are busy.") @Range(min = 10, max = 1000)
        Optional<Integer> blkioWeight) {
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

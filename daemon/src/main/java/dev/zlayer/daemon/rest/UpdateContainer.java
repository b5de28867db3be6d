package dev.zlayer.daemon.rest;

import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.resources.ResourcesSpec.SwapLimit;
import dev.zlayer.spec.service.RestartPolicySpec;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.spec.value.CpuSet;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** What can be changed of a container while it runs; absent parts stay as they are. */
@Doc("What to change of a container without a deployment; absent parts stay as they are.")
public record UpdateContainer(
    @Doc("CPU limit, e.g. 0.5.") Optional<Double> cpu,
    @Doc("CPU weight relative to other containers.") @Range(min = 2, max = 262_144)
        Optional<Integer> cpuShares,
    @Doc("CPUs to run on, e.g. 0-3,6.") Optional<CpuSet> cpuset,
    @Doc("Memory limit.") Optional<ByteSize> memory,
    @Doc("Limit of memory plus swap; -1 for unlimited swap.") Optional<SwapLimit> memorySwap,
    @Doc("Memory reservation (soft limit).") Optional<ByteSize> memoryReservation,
    @Doc("Limit of processes and threads; -1 for no limit.") @Range(min = -1)
        Optional<Long> pidsLimit,
    @Doc("Block I/O weight.") @Range(min = 10, max = 1000) Optional<Integer> blkioWeight,
    @Doc("When to restart it after an exit.") Optional<RestartPolicySpec> restartPolicy) {
  private static final long UNLIMITED = -1;

  /** The limits it has then; empty when none of them changes. */
  Optional<Resources> limits(Resources before) {
    boolean changed =
        Stream.of(
                cpu,
                cpuShares,
                cpuset,
                memory,
                memorySwap,
                memoryReservation,
                pidsLimit,
                blkioWeight)
            .anyMatch(Optional::isPresent);
    if (!changed && restartPolicy.isEmpty()) {
      throw new AgentException.InvalidSpec(
          "nothing to change; give a limit, such as memory, or a restart policy");
    }
    return changed ? Optional.of(over(before)) : Optional.empty();
  }

  private Resources over(Resources before) {
    return new Resources(
        cpu.map(OptionalDouble::of).orElse(before.cpus()),
        cpuShares.map(OptionalLong::of).orElse(before.cpuShares()),
        cpuset.map(CpuSet::text).or(before::cpuset),
        bytes(memory, before.memoryBytes()),
        memorySwap
            .map(swap -> OptionalLong.of(swap.size().map(ByteSize::bytes).orElse(UNLIMITED)))
            .orElse(before.memorySwapBytes()),
        bytes(memoryReservation, before.memoryReservationBytes()),
        before.memorySwappiness(),
        pidsLimit.map(OptionalLong::of).orElse(before.pids()),
        before.oomScoreAdjust(),
        before.oomKillDisabled(),
        blkioWeight.map(OptionalInt::of).orElse(before.blockIoWeight()),
        before.ulimits(),
        before.cgroupParent());
  }

  private static OptionalLong bytes(Optional<ByteSize> wanted, OptionalLong before) {
    return wanted.map(size -> OptionalLong.of(size.bytes())).orElse(before);
  }
}

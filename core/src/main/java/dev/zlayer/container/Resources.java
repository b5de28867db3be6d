package dev.zlayer.container;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Limits and weights; absent means no limit of its own, except for processes, which are bounded by
 * default so that a fork bomb stays inside.
 *
 * @param cpus cores, may be a fraction
 * @param memorySwapBytes memory and swap together, -1 for unlimited swap
 * @param ulimits by name without {@code RLIMIT_}, lower case
 */
public record Resources(
    OptionalDouble cpus,
    OptionalLong cpuShares,
    Optional<String> cpuset,
    OptionalLong memoryBytes,
    OptionalLong memorySwapBytes,
    OptionalLong memoryReservationBytes,
    OptionalInt memorySwappiness,
    OptionalLong pids,
    OptionalInt oomScoreAdjust,
    boolean oomKillDisabled,
    OptionalInt blockIoWeight,
    Map<String, Ulimit> ulimits,
    Optional<String> cgroupParent) {
  public static final long DEFAULT_PIDS = 4096;
  public static final Resources DEFAULT =
      new Resources(
          OptionalDouble.empty(),
          OptionalLong.empty(),
          Optional.empty(),
          OptionalLong.empty(),
          OptionalLong.empty(),
          OptionalLong.empty(),
          OptionalInt.empty(),
          OptionalLong.of(DEFAULT_PIDS),
          OptionalInt.empty(),
          false,
          OptionalInt.empty(),
          Map.of(),
          Optional.empty());

  public Resources {
    ulimits = Map.copyOf(ulimits);
  }

  /** Soft and hard bound; -1 is unlimited. */
  public record Ulimit(long soft, long hard) {}

  public Resources withMemory(long bytes) {
    return new Resources(
        cpus,
        cpuShares,
        cpuset,
        OptionalLong.of(bytes),
        memorySwapBytes,
        memoryReservationBytes,
        memorySwappiness,
        pids,
        oomScoreAdjust,
        oomKillDisabled,
        blockIoWeight,
        ulimits,
        cgroupParent);
  }

  public Resources withCpus(double cpus) {
    return new Resources(
        OptionalDouble.of(cpus),
        cpuShares,
        cpuset,
        memoryBytes,
        memorySwapBytes,
        memoryReservationBytes,
        memorySwappiness,
        pids,
        oomScoreAdjust,
        oomKillDisabled,
        blockIoWeight,
        ulimits,
        cgroupParent);
  }

  public Resources withPids(long pids) {
    return new Resources(
        cpus,
        cpuShares,
        cpuset,
        memoryBytes,
        memorySwapBytes,
        memoryReservationBytes,
        memorySwappiness,
        OptionalLong.of(pids),
        oomScoreAdjust,
        oomKillDisabled,
        blockIoWeight,
        ulimits,
        cgroupParent);
  }
}

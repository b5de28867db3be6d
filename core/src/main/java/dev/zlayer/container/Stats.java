package dev.zlayer.container;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * One reading of what a container uses. Counters grow from the start of the container.
 *
 * @param memoryBytes in use without cache that the kernel can take back
 * @param gpu of a container that has asked for one
 */
public record Stats(
    Instant time,
    long cpuNanos,
    long memoryBytes,
    OptionalLong memoryLimitBytes,
    long pids,
    OptionalLong pidsLimit,
    long blockReadBytes,
    long blockWriteBytes,
    long networkReceivedBytes,
    long networkSentBytes,
    Optional<Gpu> gpu) {
  /**
   * What its processes use of all GPUs together.
   *
   * @param percent of the time of one GPU; absent where the driver does not count it by process
   */
  public record Gpu(long memoryBytes, OptionalDouble percent) {}

  /** Without a GPU. */
  public Stats(
      Instant time,
      long cpuNanos,
      long memoryBytes,
      OptionalLong memoryLimitBytes,
      long pids,
      OptionalLong pidsLimit,
      long blockReadBytes,
      long blockWriteBytes,
      long networkReceivedBytes,
      long networkSentBytes) {
    this(
        time,
        cpuNanos,
        memoryBytes,
        memoryLimitBytes,
        pids,
        pidsLimit,
        blockReadBytes,
        blockWriteBytes,
        networkReceivedBytes,
        networkSentBytes,
        Optional.empty());
  }

  public Stats withGpu(Optional<Gpu> gpu) {
    return new Stats(
        time,
        cpuNanos,
        memoryBytes,
        memoryLimitBytes,
        pids,
        pidsLimit,
        blockReadBytes,
        blockWriteBytes,
        networkReceivedBytes,
        networkSentBytes,
        gpu);
  }
}

package dev.zlayer.container;

import java.time.Instant;
import java.util.OptionalLong;

/**
 * One reading of what a container uses. Counters grow from the start of the container.
 *
 * @param memoryBytes in use without cache that the kernel can take back
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
    long networkSentBytes) {}

package dev.zlayer.host.linux;

import java.util.OptionalLong;

/**
 * What the processes of a control group use, and what they may.
 *
 * @param memoryBytes in use, without file cache the kernel can take back at once
 * @param memoryLimit empty when there is none
 * @param outOfMemoryKills how many processes the kernel killed because the limit was reached
 */
public record CgroupUsage(
    long cpuNanos,
    long memoryBytes,
    OptionalLong memoryLimit,
    long pids,
    OptionalLong pidsLimit,
    long blockReadBytes,
    long blockWriteBytes,
    long outOfMemoryKills) {}

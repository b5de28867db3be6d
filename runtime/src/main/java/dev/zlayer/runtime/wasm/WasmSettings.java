package dev.zlayer.runtime.wasm;

import java.time.Duration;

/**
 * How modules are run.
 *
 * @param memoryBytes most memory of a module whose container has no limit
 * @param allMemoryBytes of the heap for all modules: programs, memories, tables, buffers
 * @param stackBytes for the calls of one module
 * @param warmPrograms how many are kept compiled in memory
 * @param cacheBytes how much is kept on disk for modules that no container uses
 * @param endLimit how long the end of a module that was told to end is waited for
 */
public record WasmSettings(
    long memoryBytes,
    long allMemoryBytes,
    long stackBytes,
    int warmPrograms,
    long cacheBytes,
    Duration endLimit) {
  /** Half of what this process may use, since modules live in its heap. */
  public static WasmSettings standard() {
    return new WasmSettings(
        256L << 20,
        Runtime.getRuntime().maxMemory() / 2,
        8L << 20,
        32,
        512L << 20,
        Duration.ofSeconds(10));
  }
}

/**
 * Containers that are WebAssembly modules, run in this very process: no root, no daemon, no native
 * part. One thread per running module, owned by its {@link dev.zlayer.runtime.wasm.ModuleLoop};
 * touches its part of the data directory and what is mounted. A module ends with the agent.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.wasm;

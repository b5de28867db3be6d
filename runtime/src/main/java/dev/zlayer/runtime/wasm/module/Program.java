package dev.zlayer.runtime.wasm.module;

import java.util.function.Function;
import run.endive.runtime.Instance;
import run.endive.runtime.Machine;
import run.endive.wasm.WasmModule;

/**
 * A module that can be run any number of times.
 *
 * @param machines makes what executes an instance
 */
public record Program(WasmModule module, Function<Instance, Machine> machines) {}

/**
 * The world that a module sees: files below the directories it was given, and the calls it may
 * make. Runs on the module's thread; touches nothing but those directories.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.wasm.wasi;

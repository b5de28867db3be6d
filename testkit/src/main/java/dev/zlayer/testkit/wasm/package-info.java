/**
 * WebAssembly modules for tests, made by the compilers of the machine. Starts those and waits for
 * them; touches a temporary directory.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.wasm;

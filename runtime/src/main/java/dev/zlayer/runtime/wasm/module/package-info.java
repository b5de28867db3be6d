/**
 * Modules as files, as parsed and as compiled classes, each kept by the digest of the module's
 * bytes. No threads of its own; touches its directories alone.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.wasm.module;

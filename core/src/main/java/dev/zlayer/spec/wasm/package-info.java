/**
 * Settings of WebAssembly services. Plain records, made by the reader. No threads here, and nothing
 * is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.wasm;

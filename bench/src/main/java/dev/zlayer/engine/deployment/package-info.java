/** Writes state that only this package can write. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.deployment;

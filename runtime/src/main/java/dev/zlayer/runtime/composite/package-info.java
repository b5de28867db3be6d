/**
 * One runtime made of several. {@link dev.zlayer.runtime.composite.Selection} decides, as a pure
 * function, which one runs a container; the decision is on disk before the runtime is asked, and
 * from then on every handle is that runtime's own.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.composite;

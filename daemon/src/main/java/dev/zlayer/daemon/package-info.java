/**
 * Builds everything once, in one order, and serves it: the composition root, its configuration, and
 * the entry of the process. Owns what it opened and closes it in reverse.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon;

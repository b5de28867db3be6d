/**
 * Looks at containers without changing them: what they use, which processes run in them, which
 * files they have. Callers' threads do the work, but for the one of the sampler's loop. Reads
 * through {@code host.linux} only.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.observe;

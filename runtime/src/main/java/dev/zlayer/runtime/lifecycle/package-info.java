/**
 * What the runtimes that keep their own records share: how far a container is, its record on disk,
 * who may look at it while it changes, and the part of a handle that only looks. Owns no thread.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.lifecycle;

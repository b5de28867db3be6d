/**
 * Compose files as deployment files: what means the same is written with our keys, what does not is
 * reported with its place in the file. No I/O; files that a Compose file names are read by a
 * caller.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.compose;

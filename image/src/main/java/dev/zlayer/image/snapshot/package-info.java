/**
 * A root file system per container, stacked from unpacked layers with overlayfs or copied where
 * that is not possible. No threads of its own: work is done by the caller. It touches its own
 * directory, reads the layers, and changes the mount table below its directory only.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image.snapshot;

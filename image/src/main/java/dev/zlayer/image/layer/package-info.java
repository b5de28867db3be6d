/**
 * Layers on disk: each is unpacked once, by its diff id, into a directory overlayfs can stack. One
 * task per unpacking decompresses ahead of the caller's thread, which writes. Files are touched
 * only inside the store's own directory, through descriptors the kernel keeps inside their root.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image.layer;

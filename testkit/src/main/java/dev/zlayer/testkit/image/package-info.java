/**
 * Makes images for tests, sound ones and hostile ones, as layouts, archives or bytes to push. No
 * threads; writes only where the caller says and runs only {@code zstd} and {@code busybox --list}.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.image;

/** Copies of volumes: their users are paused or stopped meanwhile, and continued in any case. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.volume;

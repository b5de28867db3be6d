/**
 * Volumes with a name: what is there, who uses it, how large it is, and how it goes away. The
 * runtime makes and fills them; their directories are the only record, so nothing can disagree with
 * them. No threads of its own. It may touch the directory of volumes.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.volume;

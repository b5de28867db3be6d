/**
 * The output of containers as conmon writes it: where it is kept, how it stays bounded, and how it
 * is read. Readers run on their callers' threads; rotation runs on the thread of a directory watch.
 * Touches nothing but the files in a container's log directory.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.log;

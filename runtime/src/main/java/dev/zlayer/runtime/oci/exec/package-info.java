/**
 * Further processes inside a container, and joining the first one's streams. A thread per terminal
 * or attachment copies bytes the Java library cannot wait for; everything else runs on the callers'
 * threads.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.oci.exec;

/**
 * Containers on Linux through an OCI runtime and conmon. One thread waits for monitors to end;
 * everything else runs on the callers' threads. Touches the data directory, and the kernel through
 * {@code host}.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.oci;

/**
 * GPUs for containers: the standard CDI device specs, and sharing through MPS or time slices. Pure
 * but for reading those specs; owns no threads.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.oci.gpu;

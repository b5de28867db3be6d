/**
 * GPUs for containers: which there are (CDI specs of vendors, else the driver itself), who has them
 * and how they are shared. One thread, of {@link dev.zlayer.runtime.oci.gpu.Gpus}, keeps it so.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.oci.gpu;

/**
 * From what is wanted to the config.json of an OCI bundle, one class per section. Pure: no threads,
 * no processes; what has to be known about the host, the image and the root file system is passed
 * in, and what this host cannot do is refused by name.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.oci.config;

/**
 * Images as files: the archive that {@code docker save} and OCI tools write and read, and root file
 * systems that become images. Everything streams; archives are not trusted. No threads.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image.archive;

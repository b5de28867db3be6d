/**
 * Builds images with Debian's {@code buildah}, which is optional. Each build has a directory of its
 * own with the context, the storage and the result; nothing of it outlives the build but the image
 * in the agent's store. Calls block and can be interrupted, which ends the builder.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.build;

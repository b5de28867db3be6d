/**
 * A client for OCI and Docker registries, written against registries that misbehave: every size is
 * bounded, every wait ends, and credentials go to the host they belong to and nowhere else. It
 * starts no threads of its own besides those of the JDK's HTTP client; calls block and can be
 * interrupted. It writes only into the ingest it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image.registry;

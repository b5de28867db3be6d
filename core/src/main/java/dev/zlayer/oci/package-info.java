/**
 * Words of the OCI image world: references, digests, platforms, pull policies. Pure values with
 * their grammar; no network, no disk.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.oci;

package dev.zlayer.image.registry;

import dev.zlayer.oci.Digest;

/** A manifest as the registry sent it, with the digest its bytes have. */
@SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
public record Fetched(Digest digest, String contentType, byte[] bytes) {}

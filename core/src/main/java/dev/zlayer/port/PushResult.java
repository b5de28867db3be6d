package dev.zlayer.port;

import dev.zlayer.oci.Digest;

/** What the tag points to after a push: the manifest's digest and its size in bytes. */
public record PushResult(Digest digest, long size) {}

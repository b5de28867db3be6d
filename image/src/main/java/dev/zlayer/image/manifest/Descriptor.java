package dev.zlayer.image.manifest;

import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.Platform;
import java.util.Map;
import java.util.Optional;

/**
 * A pointer to content: what it is, its digest and its size. The URLs that a descriptor may also
 * carry are left out on purpose: content only comes from the registry that was named.
 */
public record Descriptor(
    String mediaType,
    Digest digest,
    long size,
    Optional<Platform> platform,
    Map<String, String> annotations) {
  public Descriptor {
    annotations = Map.copyOf(annotations);
  }

  public static Descriptor of(String mediaType, Digest digest, long size) {
    return new Descriptor(mediaType, digest, size, Optional.empty(), Map.of());
  }

  public Json.Obj json() {
    Json.Builder json =
        Json.object().put("mediaType", mediaType).put("digest", digest).put("size", size);
    platform.ifPresent(value -> json.put("platform", json(value)));
    if (!annotations.isEmpty()) {
      json.put("annotations", annotations);
    }
    return json.build();
  }

  private static Json json(Platform platform) {
    return Json.object()
        .put("architecture", platform.architecture())
        .put("os", platform.os())
        .putIf("os.version", platform.osVersion())
        .putIf("variant", platform.variant())
        .build();
  }
}

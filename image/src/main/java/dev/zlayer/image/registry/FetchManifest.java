package dev.zlayer.image.registry;

import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** {@code GET /v2/<name>/manifests/<reference>}, with the digest verified. */
record FetchManifest(Authorizer authorizer, Optional<RegistryAuth> auth) {
  Fetched from(RegistryEndpoint endpoint, String selector)
      throws IOException, InterruptedException {
    RegistryTransport.Ask ask =
        RegistryTransport.Ask.of(
            "GET", endpoint.manifest(selector), Map.of("Accept", MediaTypes.ACCEPT));
    String what =
        "image " + endpoint.repository() + (selector.contains(":") ? "@" : ":") + selector;
    try (RegistryResponse answer = authorizer.send(endpoint, auth, ask)) {
      if (!answer.ok()) {
        throw answer.failure(endpoint.name(), what, authorizer.now());
      }
      byte[] bytes = answer.body().bytes(ManifestReader.MAX_BYTES);
      if (bytes.length > ManifestReader.MAX_BYTES) {
        throw unsound(
            "%s has a manifest of over %d bytes for %s"
                .formatted(endpoint.name(), ManifestReader.MAX_BYTES, what));
      }
      return new Fetched(verify(endpoint, selector, answer, bytes), type(answer), bytes);
    }
  }

  /** By digest, the content must have it; by tag, what the registry claims must at least be so. */
  private static Digest verify(
      RegistryEndpoint endpoint, String selector, RegistryResponse answer, byte[] bytes)
      throws RegistryException {
    Optional<Digest> expected =
        selector.contains(":")
            ? Optional.of(Digest.parse(selector))
            : answer.header("Docker-Content-Digest").flatMap(ResolveManifest::digest);
    Digest actual =
        expected.map(like -> Hashes.of(bytes, like)).orElseGet(() -> Hashes.sha256(bytes));
    if (expected.isPresent() && !expected.get().equals(actual)) {
      throw unsound(
          "%s sent a manifest with the digest %s instead of %s"
              .formatted(endpoint.name(), actual, expected.get()));
    }
    return actual;
  }

  private static String type(RegistryResponse answer) {
    String type = answer.header("Content-Type").orElse("");
    int semicolon = type.indexOf(';');
    return (semicolon < 0 ? type : type.substring(0, semicolon)).strip().toLowerCase(Locale.ROOT);
  }

  private static RegistryException unsound(String reason) {
    return new RegistryException(RegistryException.Problem.UNSOUND, reason);
  }
}

package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.MediaTypes;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;

/** {@code HEAD /v2/<name>/manifests/<reference>}: what a reference points to now. */
record ResolveManifest(Authorizer authorizer, Optional<RegistryAuth> auth) {
  /** Nothing when the registry has the image but cannot tell the digest this way. */
  Optional<Digest> from(RegistryEndpoint endpoint, String selector)
      throws IOException, InterruptedException {
    RegistryTransport.Ask ask =
        RegistryTransport.Ask.of(
            "HEAD", endpoint.manifest(selector), Map.of("Accept", MediaTypes.ACCEPT));
    try (RegistryResponse answer = authorizer.send(endpoint, auth, ask)) {
      if (answer.ok()) {
        answer.body().drain();
        return answer.header("Docker-Content-Digest").flatMap(ResolveManifest::digest);
      }
      if (answer.methodRefused()) {
        return Optional.empty();
      }
      throw answer.failure(
          endpoint.name(), "image " + endpoint.repository() + ":" + selector, authorizer.now());
    }
  }

  static Optional<Digest> digest(String text) {
    try {
      return Optional.of(Digest.parse(text));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }
}

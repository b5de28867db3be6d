package dev.zlayer.port;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import java.util.Optional;

/**
 * What to pull.
 *
 * @param platform which one of a multi-platform image; absent means the runtime's own
 * @param auth instead of the configured credentials for the image's registry
 */
public record PullRequest(
    ImageRef image, PullPolicy policy, Optional<Platform> platform, Optional<RegistryAuth> auth) {
  public static PullRequest of(ImageRef image, PullPolicy policy) {
    return new PullRequest(image, policy, Optional.empty(), Optional.empty());
  }
}

package dev.zlayer.port;

import dev.zlayer.oci.ImageRef;
import java.util.Optional;

/**
 * What to push, to the registry and repository that its name says.
 *
 * @param auth instead of the configured credentials for the image's registry
 */
public record PushRequest(ImageRef image, Optional<RegistryAuth> auth) {}

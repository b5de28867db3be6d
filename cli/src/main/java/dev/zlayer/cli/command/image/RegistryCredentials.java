package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.host.credential.DockerConfig;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import java.util.Optional;

/**
 * The credentials of the user who typed the command. The daemon often runs as somebody else, so
 * they go with the request, for the image's registry alone.
 */
final class RegistryCredentials {
  private RegistryCredentials() {}

  static Optional<Json> of(Session session, ImageRef image) throws InterruptedException {
    return new DockerConfig(Locations.dockerConfig(session))
        .find(image.host())
        .map(RegistryCredentials::json);
  }

  static Json json(RegistryAuth auth) {
    return switch (auth) {
      case RegistryAuth.Basic(var user, var password) ->
          Json.object().put("user", user).put("password", password).build();
      case RegistryAuth.Token(var token) -> Json.object().put("token", token).build();
    };
  }
}

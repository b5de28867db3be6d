package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.RegistryAuth;
import java.util.Base64;
import java.util.Optional;

/** Credentials as clients send them along: JSON in base64. */
final class RegistryHeader {
  private RegistryHeader() {}

  static Optional<RegistryAuth> of(ApiRequest call) {
    Optional<String> text = call.header("X-Registry-Auth").filter(value -> !value.isBlank());
    if (text.isEmpty()) {
      return Optional.empty();
    }
    try {
      String padded = text.get().strip().replace('+', '-').replace('/', '_').replace("=", "");
      return auth(JsonText.parse(Base64.getUrlDecoder().decode(padded)));
    } catch (IllegalArgumentException | AgentException.InvalidSpec _) {
      throw DockerError.badRequest("invalid X-Registry-Auth header: it is not base64 of JSON");
    }
  }

  /** Nothing when no credentials are in it. */
  static Optional<RegistryAuth> auth(Json json) {
    Optional<String> token = json.at("identitytoken").string().filter(value -> !value.isEmpty());
    if (token.isPresent()) {
      return token.map(RegistryAuth.Token::new);
    }
    return json.at("username")
        .string()
        .filter(user -> !user.isEmpty())
        .map(user -> new RegistryAuth.Basic(user, json.at("password").string().orElse("")));
  }
}

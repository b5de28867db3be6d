package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.RegistryAuth;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What the operator set per registry host, read from a JSON file:
 *
 * <pre>{@code
 * {
 *   "hosts": {
 *     "docker.io": {"mirrors": ["https://mirror.example/hub", "localhost:5000"]},
 *     "registry.example:5000": {
 *       "plainHttp": true,
 *       "credentials": {"user": "ci", "password": "..."},
 *       "caFile": "/etc/zlayer/ca.pem"
 *     },
 *     "*": {"offline": true}
 *   }
 * }
 * }</pre>
 *
 * <p>A host's own entry counts alone; {@code *} is for all hosts without one. Credentials are
 * {@code user} and {@code password}, or an identity {@code token}. A mirror is looked up by its own
 * host for everything but its scheme.
 */
public record RegistriesConfig(Map<String, HostConfig> hosts) {
  public static final RegistriesConfig EMPTY = new RegistriesConfig(Map.of());

  private static final String ANY = "*";
  private static final Set<String> KEYS =
      Set.of("mirrors", "plainHttp", "credentials", "caFile", "offline");

  public RegistriesConfig {
    hosts = Map.copyOf(hosts);
  }

  /** The file's content, or nothing special when there is no such file. */
  public static RegistriesConfig read(Path file) {
    if (!Files.exists(file)) {
      return EMPTY;
    }
    try {
      return parse(Files.readString(file));
    } catch (AgentException.InvalidSpec e) {
      throw new AgentException.Configuration(file + ": " + e.getMessage(), e.getCause());
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot read " + file + ": " + e.getMessage(), e);
    }
  }

  static RegistriesConfig parse(String text) {
    Json json = JsonText.parse(text);
    onlyKeys(json, Set.of("hosts"), "the top level");
    var hosts = new LinkedHashMap<String, HostConfig>();
    json.at("hosts").members().forEach((name, host) -> hosts.put(name, host(name, host)));
    return new RegistriesConfig(hosts);
  }

  public HostConfig of(String host) {
    HostConfig own = hosts.get(host);
    return own != null ? own : hosts.getOrDefault(ANY, HostConfig.DEFAULT);
  }

  private static HostConfig host(String name, Json json) {
    onlyKeys(json, KEYS, "host '" + name + "'");
    List<String> mirrors = json.at("mirrors").strings();
    if (mirrors.size() != json.at("mirrors").items().size()) {
      throw new AgentException.InvalidSpec("host '%s': mirrors are texts".formatted(name));
    }
    mirrors.forEach(RegistryEndpoint::mirror);
    return new HostConfig(
        mirrors,
        bool(name, json, "plainHttp"),
        credentials(name, json.at("credentials")),
        json.at("caFile").string().map(Path::of),
        bool(name, json, "offline").orElse(false));
  }

  private static Optional<Boolean> bool(String host, Json json, String key) {
    Json value = json.at(key);
    if (!value.isNull() && value.bool().isEmpty()) {
      throw new AgentException.InvalidSpec("host '%s': %s is true or false".formatted(host, key));
    }
    return value.bool();
  }

  private static Optional<RegistryAuth> credentials(String host, Json json) {
    if (json.isNull()) {
      return Optional.empty();
    }
    onlyKeys(json, Set.of("user", "password", "token"), "credentials of host '" + host + "'");
    Optional<String> token = json.at("token").string();
    Optional<String> user = json.at("user").string();
    if (token.isPresent() == user.isPresent()) {
      throw new AgentException.InvalidSpec(
          "credentials of host '%s': write user and password, or token".formatted(host));
    }
    return token
        .<RegistryAuth>map(RegistryAuth.Token::new)
        .or(
            () ->
                user.map(
                    name -> new RegistryAuth.Basic(name, json.at("password").string().orElse(""))));
  }

  private static void onlyKeys(Json json, Set<String> known, String where) {
    if (!(json instanceof Json.Obj)) {
      throw new AgentException.InvalidSpec(where + " is not an object");
    }
    for (String key : json.members().keySet()) {
      if (!known.contains(key)) {
        throw new AgentException.InvalidSpec(
            "%s has an unknown key '%s': known are %s"
                .formatted(where, key, known.stream().sorted().toList()));
      }
    }
  }
}

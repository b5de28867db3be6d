package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The daemons that a user has given names, in a file of the user.
 *
 * @param current the name of the one that is asked when nothing else is said
 */
public record Contexts(Optional<String> current, Map<String, Context> all) {
  /** The daemon of this machine; always there. */
  public static final String DEFAULT = "default";

  private static final String NAME = "[A-Za-z0-9][A-Za-z0-9_.-]{0,62}";

  public Contexts {
    all = new TreeMap<>(all);
  }

  /**
   * How to reach a daemon.
   *
   * @param host as in {@code ZLAYER_HOST}
   */
  public record Context(
      String host,
      Optional<String> tlsCa,
      Optional<String> tlsCert,
      Optional<String> tlsKey,
      Optional<String> tokenFile) {
    public Json json() {
      return Json.object()
          .put("host", host)
          .putIf("tls_ca", tlsCa)
          .putIf("tls_cert", tlsCert)
          .putIf("tls_key", tlsKey)
          .putIf("token_file", tokenFile)
          .build();
    }

    static Context of(Json json) {
      return new Context(
          json.at("host").string().orElse(""),
          json.at("tls_ca").string(),
          json.at("tls_cert").string(),
          json.at("tls_key").string(),
          json.at("token_file").string());
    }
  }

  /** None when there is no such file. */
  public static Contexts read(Path file) {
    try {
      if (!Files.exists(file)) {
        return new Contexts(Optional.empty(), Map.of());
      }
      Json stored = JsonText.parse(Files.readAllBytes(file));
      var all = new TreeMap<String, Context>();
      stored.at("contexts").members().forEach((name, json) -> all.put(name, Context.of(json)));
      return new Contexts(stored.at("current").string(), all);
    } catch (AgentException.InvalidSpec e) {
      throw new AgentException.Configuration(
          "%s is damaged: %s; correct or remove it".formatted(file, e.getMessage()), e);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "%s cannot be read: %s".formatted(file, e.getMessage()), e);
    }
  }

  public void write(Path file) {
    var contexts = Json.object();
    all.forEach((name, context) -> contexts.put(name, context.json()));
    Json json = Json.object().putIf("current", current).put("contexts", contexts.build()).build();
    try {
      Files.createDirectories(file.toAbsolutePath().getParent());
      PrivateDirectory.file(file);
      AtomicFile.write(
          file, JsonText.pretty(json).getBytes(java.nio.charset.StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "%s cannot be written: %s".formatted(file, e.getMessage()), e);
    }
  }

  /** Absent for the daemon of this machine. */
  public Optional<Context> find(String name) {
    if (name.equals(DEFAULT)) {
      return Optional.empty();
    }
    Context context = all.get(name);
    if (context == null) {
      throw new AgentException.NotFound(
          "context '" + name + "'", "'zlayer context ls' shows those that exist");
    }
    return Optional.of(context);
  }

  public Contexts with(String name, Context context) {
    if (name.equals(DEFAULT) || !name.matches(NAME)) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name for a context: use letters, digits, dots and hyphens, not '%s'"
              .formatted(name, DEFAULT));
    }
    if (all.containsKey(name)) {
      throw new AgentException.Conflict(
          "context '%s' exists: remove it first, or choose another name".formatted(name));
    }
    var more = new TreeMap<>(all);
    more.put(name, context);
    return new Contexts(current, more);
  }

  public Contexts without(String name) {
    if (find(name).isEmpty()) {
      throw new AgentException.InvalidSpec("context '%s' is always there".formatted(DEFAULT));
    }
    var fewer = new TreeMap<>(all);
    fewer.remove(name);
    return new Contexts(current.filter(now -> !now.equals(name)), fewer);
  }

  public Contexts using(String name) {
    return new Contexts(find(name).map(_ -> name), all);
  }
}

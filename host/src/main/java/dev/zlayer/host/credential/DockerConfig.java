package dev.zlayer.host.credential;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Credentials as {@code docker login} leaves them: in {@code config.json} itself, or with a
 * credential helper that the file names. The file is read each time, so a new login counts at once.
 */
public final class DockerConfig {
  private static final String HUB_KEY = "https://index.docker.io/v1/";
  private static final String TOKEN_USER = "<token>";
  private static final String HELPER = "docker-credential-";
  private static final Duration HELPER_TIME = Duration.ofSeconds(30);

  private final Path file;
  private final String helperPrefix;

  /** Helpers are found as the system finds programs. */
  public DockerConfig(Path file) {
    this(file, HELPER);
  }

  private DockerConfig(Path file, String helperPrefix) {
    this.file = file;
    this.helperPrefix = helperPrefix;
  }

  /** Helpers are taken from one directory. */
  public DockerConfig withHelpersIn(Path directory) {
    return new DockerConfig(file, directory.resolve(HELPER).toString());
  }

  /** The credentials for a host; blocks when a program has to be asked. */
  public Optional<RegistryAuth> find(String host) throws InterruptedException {
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    Json config = read();
    Optional<String> helper = helper(config, host);
    if (helper.isPresent()) {
      Optional<RegistryAuth> found = ask(helper.get(), host);
      if (found.isPresent()) {
        return found;
      }
    }
    return config.at("auths").members().entrySet().stream()
        .filter(entry -> keys(host).contains(hostOf(entry.getKey())))
        .flatMap(entry -> auth(entry.getKey(), entry.getValue()).stream())
        .findFirst();
  }

  /**
   * Keeps credentials for a host: with the credential helper that is configured for it, else in the
   * file, which only its owner can read.
   *
   * @return where they are kept, for people
   */
  public String store(String host, RegistryAuth auth) throws InterruptedException {
    Json config = Files.exists(file) ? read() : Json.object().build();
    Optional<String> helper = helper(config, host);
    if (helper.isPresent()) {
      Json secret =
          switch (auth) {
            case RegistryAuth.Basic(var user, var password) -> secret(host, user, password);
            case RegistryAuth.Token(var token) -> secret(host, TOKEN_USER, token);
          };
      require(helper.get(), "store", JsonText.print(secret), host);
      write(withAuth(config, host, Optional.of(Json.object().build())));
      return HELPER + helper.get();
    }
    write(withAuth(config, host, Optional.of(entry(auth))));
    return file.toString();
  }

  /** Removes the credentials for a host; false when there were none. */
  public boolean erase(String host) throws InterruptedException {
    if (!Files.exists(file)) {
      return false;
    }
    Json config = read();
    boolean found = find(host).isPresent();
    Optional<String> helper = helper(config, host);
    if (found && helper.isPresent()) {
      require(helper.get(), "erase", key(host), host);
    }
    Json without = withAuth(config, host, Optional.empty());
    if (!without.equals(config)) {
      write(without);
    }
    return found;
  }

  private static Json secret(String host, String user, String secret) {
    return Json.object()
        .put("ServerURL", key(host))
        .put("Username", user)
        .put("Secret", secret)
        .build();
  }

  private static Json entry(RegistryAuth auth) {
    return switch (auth) {
      case RegistryAuth.Basic(var user, var password) ->
          Json.object()
              .put(
                  "auth",
                  Base64.getEncoder()
                      .encodeToString((user + ":" + password).getBytes(StandardCharsets.UTF_8)))
              .build();
      case RegistryAuth.Token(var token) -> Json.object().put("identitytoken", token).build();
    };
  }

  /** The same with one entry for the host, or none; whatever else is in the file stays. */
  private static Json withAuth(Json config, String host, Optional<Json> entry) {
    var auths = new LinkedHashMap<>(config.at("auths").members());
    auths.keySet().removeIf(name -> keys(host).contains(hostOf(name)));
    entry.ifPresent(value -> auths.put(key(host), value));
    var members = new LinkedHashMap<>(config.members());
    members.put("auths", new Json.Obj(auths));
    return new Json.Obj(members);
  }

  private void write(Json config) {
    try {
      Path target = Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
      Path directory = Objects.requireNonNull(target.getParent(), "a file has a directory");
      if (!Files.isDirectory(directory)) {
        PrivateDirectory.directory(directory);
      }
      AtomicFile.write(target, JsonText.pretty(config).getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "credentials cannot be written to %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  private static Optional<String> helper(Json config, String host) {
    return keys(host).stream()
        .flatMap(key -> config.at("credHelpers").at(key).string().stream())
        .findFirst()
        .or(() -> config.at("credsStore").string())
        .filter(name -> !name.isEmpty());
  }

  private Json read() {
    try {
      return JsonText.parse(Files.readAllBytes(file));
    } catch (AgentException.InvalidSpec e) {
      throw new AgentException.Configuration(file + " is " + e.getMessage(), e.getCause());
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot read " + file + ": " + e.getMessage(), e);
    }
  }

  /** The spellings under which a host is found. */
  private static List<String> keys(String host) {
    return host.equals(ImageRef.DEFAULT_HOST)
        ? List.of(HUB_KEY, "index.docker.io", "docker.io", "registry-1.docker.io")
        : List.of(host, "https://" + host, "http://" + host);
  }

  /** {@code https://host/v1/} was once written where {@code host} is meant. */
  private static String hostOf(String key) {
    String rest = key.replaceFirst("^https?://", "");
    int slash = rest.indexOf('/');
    return slash < 0 ? rest : rest.substring(0, slash);
  }

  private Optional<RegistryAuth> auth(String key, Json entry) {
    Optional<String> identity = entry.at("identitytoken").string().filter(text -> !text.isEmpty());
    if (identity.isPresent()) {
      return identity.map(RegistryAuth.Token::new);
    }
    Optional<String> packed = entry.at("auth").string().filter(text -> !text.isEmpty());
    if (packed.isEmpty()) {
      return entry
          .at("username")
          .string()
          .map(user -> new RegistryAuth.Basic(user, entry.at("password").string().orElse("")));
    }
    try {
      String plain = new String(Base64.getDecoder().decode(packed.get()), StandardCharsets.UTF_8);
      int colon = plain.indexOf(':');
      if (colon > 0) {
        return Optional.of(
            new RegistryAuth.Basic(plain.substring(0, colon), plain.substring(colon + 1)));
      }
    } catch (IllegalArgumentException _) {
      // told below, without the text that may hold a password
    }
    throw new AgentException.Configuration(
        "%s has unreadable credentials for %s: log in again".formatted(file, key));
  }

  /** An empty answer when the helper knows nothing about the host; helpers say that by failing. */
  private Optional<RegistryAuth> ask(String helper, String host) throws InterruptedException {
    CommandResult result = run(helper, "get", key(host));
    if (!result.success()) {
      if (result.stdout().contains("credentials not found")) {
        return Optional.empty();
      }
      throw new AgentException.Configuration(
          "credential helper %s%s failed for %s: %s"
              .formatted(HELPER, helper, host, result.lastLine()));
    }
    return answer(helper, result.stdout());
  }

  private void require(String helper, String action, String input, String host)
      throws InterruptedException {
    CommandResult result = run(helper, action, input);
    if (!result.success()) {
      String said = result.stdout().isBlank() ? result.lastLine() : result.stdout().strip();
      throw new AgentException.Configuration(
          "credential helper %s%s cannot %s the credentials of %s: %s"
              .formatted(HELPER, helper, action, host, said));
    }
  }

  private CommandResult run(String helper, String action, String input)
      throws InterruptedException {
    if (!helper.matches("[A-Za-z0-9_.-]+")) {
      throw new AgentException.Configuration(
          "%s names a credential helper '%s', which is no program name".formatted(file, helper));
    }
    return Processes.run(
        Command.of(helperPrefix + helper, action)
            .withInput(input.getBytes(StandardCharsets.UTF_8))
            .inheritingAll(),
        Deadline.after(HELPER_TIME));
  }

  private static String key(String host) {
    return host.equals(ImageRef.DEFAULT_HOST) ? HUB_KEY : host;
  }

  private static Optional<RegistryAuth> answer(String helper, String text) {
    Json json;
    try {
      json = JsonText.parse(text);
    } catch (AgentException.InvalidSpec _) {
      throw new AgentException.Configuration(
          "credential helper " + HELPER + helper + " did not answer with JSON");
    }
    String user = json.at("Username").string().orElse("");
    String secret = json.at("Secret").string().orElse("");
    if (secret.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        user.equals(TOKEN_USER)
            ? new RegistryAuth.Token(secret)
            : new RegistryAuth.Basic(user, secret));
  }
}

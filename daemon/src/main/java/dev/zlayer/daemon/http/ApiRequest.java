package dev.zlayer.daemon.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.spec.bind.Binder;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.yaml.YamlReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One request as a route sees it. Whatever is asked of it and does not fit is a clear refusal. */
public final class ApiRequest {
  public static final String JSON = "application/json";
  public static final String LINES = "application/x-ndjson";
  public static final String EVENTS = "text/event-stream";
  public static final String TAR = "application/x-tar";
  public static final String TEXT = "text/plain; charset=utf-8";

  /** Bodies that are read whole are small: a deployment file may have a mebibyte. */
  private static final int LARGEST_BODY = 1 << 20;

  private static final String DEPLOYMENT = "deployment";

  private final Transport wire;
  private final Map<String, String> path;
  private final Caller caller;
  private byte @Nullable [] whole;
  private @Nullable Repetition repetition;

  /** The request below, as far as routes need it. */
  public interface Transport {
    /** Names the request in logs and problems. */
    String id();

    List<String> query(String name);

    @Nullable String header(String name);

    InputStream body();

    /** Who asks, as far as known. */
    Optional<String> remote();

    String method();

    /** Path and query as they were sent. */
    String target();
  }

  /** The request below without some parameters. */
  private record Without(Transport wire, Set<String> hidden) implements Transport {
    @Override
    public String id() {
      return wire.id();
    }

    @Override
    public List<String> query(String name) {
      return hidden.contains(name) ? List.of() : wire.query(name);
    }

    @Override
    public @Nullable String header(String name) {
      return wire.header(name);
    }

    @Override
    public InputStream body() {
      return wire.body();
    }

    @Override
    public Optional<String> remote() {
      return wire.remote();
    }

    @Override
    public String method() {
      return wire.method();
    }

    @Override
    public String target() {
      return wire.target();
    }
  }

  /** The request below with other parameters, for an answer of another type. */
  private record Asking(Transport wire, Map<String, String> asked, String type)
      implements Transport {
    @Override
    public String id() {
      return wire.id();
    }

    @Override
    public List<String> query(String name) {
      return Optional.ofNullable(asked.get(name)).stream().toList();
    }

    @Override
    public @Nullable String header(String name) {
      return name.equalsIgnoreCase("Accept") ? type : null;
    }

    @Override
    public InputStream body() {
      return wire.body();
    }

    @Override
    public Optional<String> remote() {
      return wire.remote();
    }

    @Override
    public String method() {
      return wire.method();
    }

    @Override
    public String target() {
      return wire.target().split("\\?", 2)[0];
    }
  }

  ApiRequest(Transport wire, Map<String, String> path, Caller caller) {
    this.wire = wire;
    this.path = Map.copyOf(path);
    this.caller = caller;
  }

  public String id() {
    return wire.id();
  }

  public String method() {
    return wire.method();
  }

  /** Path and query as they were sent. */
  public String target() {
    return wire.target();
  }

  /** Whether another node of the cluster asks, which means this node alone. */
  public boolean fromNode() {
    return caller.listener().equals(ClusterListener.NAME);
  }

  /** The id of that node. */
  public Optional<String> node() {
    return fromNode()
        ? Optional.of(caller.who().substring(AccessControl.NODE.length()))
        : Optional.empty();
  }

  /** The same without some parameters. */
  public ApiRequest without(Set<String> parameters) {
    return new ApiRequest(new Without(wire, Set.copyOf(parameters)), path, caller);
  }

  /** The same caller asks the same route for something else. */
  public ApiRequest asking(Map<String, String> parameters, String type) {
    return new ApiRequest(new Asking(wire, Map.copyOf(parameters), type), path, caller);
  }

  /** How to leave a mark of this request; empty when its caller does not send it again. */
  public Optional<Repetition> repetition() {
    return Optional.ofNullable(repetition);
  }

  public void repeatableAs(Repetition repetition) {
    this.repetition = repetition;
  }

  public Optional<String> remote() {
    return wire.remote();
  }

  /** The user, the token's name or the session, as the audit log has it. */
  public String who() {
    return caller.who();
  }

  /** The id of the scoped token or the session that was shown. */
  public Optional<String> token() {
    return caller.token();
  }

  /** The only deployment whose things the caller may see and change; all when empty. */
  public Optional<String> deployment() {
    return caller.deployment();
  }

  /** A variable of the route's template. */
  public String path(String name) {
    String value = path.get(name);
    if (value == null) {
      throw new AgentException.Internal("the route has no variable " + name);
    }
    return value;
  }

  public Optional<String> query(String name) {
    List<String> values = wire.query(name);
    if (values.size() > 1) {
      throw AccessDenied.malformed("the parameter '" + name + "' is given twice");
    }
    Optional<String> given = values.stream().findFirst().filter(value -> !value.isEmpty());
    return name.equals(DEPLOYMENT) && deployment().isPresent() ? own(given) : given;
  }

  /** A caller that is limited to a deployment means that one. */
  private Optional<String> own(Optional<String> given) {
    if (given.isPresent() && !given.equals(deployment())) {
      throw AccessDenied.forbidden(
          "the token is for deployment '%s' only".formatted(deployment().orElseThrow()));
    }
    return deployment();
  }

  public String required(String name) {
    return query(name)
        .orElseThrow(() -> AccessDenied.malformed("the parameter '" + name + "' is absent"));
  }

  public List<String> queries(String name) {
    return wire.query(name);
  }

  /** A switch; {@code ?name} alone means true. */
  public boolean flag(String name, boolean standard) {
    List<String> values = wire.query(name);
    if (values.isEmpty()) {
      return standard;
    }
    return switch (values.getFirst()) {
      case "", "true", "1" -> true;
      case "false", "0" -> false;
      default ->
          throw AccessDenied.malformed(
              "the parameter '%s' is true or false, not '%s'".formatted(name, values.getFirst()));
    };
  }

  public OptionalInt number(String name) {
    Optional<String> text = query(name);
    try {
      OptionalInt number =
          text.isEmpty() ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(text.get()));
      if (number.orElse(0) >= 0) {
        return number;
      }
    } catch (NumberFormatException _) {
      // said below
    }
    throw AccessDenied.malformed(
        "the parameter '%s' is a whole number from 0, not '%s'".formatted(name, text.orElse("")));
  }

  public Optional<Duration> duration(String name) {
    return query(name).map(Durations::parse);
  }

  /** A point in time as ISO-8601, as seconds since 1970, or as a duration before {@code now}. */
  public Optional<Instant> time(String name, Instant now) {
    return query(name).map(text -> time(name, text, now));
  }

  private static Instant time(String name, String text, Instant now) {
    if (text.matches("[0-9]{9,12}")) {
      return Instant.ofEpochSecond(Long.parseLong(text));
    }
    try {
      return text.contains("T") ? Instant.parse(text) : now.minus(Durations.parse(text));
    } catch (DateTimeParseException _) {
      throw AccessDenied.malformed(
          "the parameter '%s' is a time such as 2026-01-31T12:00:00Z or 10m ago, not '%s'"
              .formatted(name, text));
    }
  }

  public Optional<String> header(String name) {
    return Optional.ofNullable(wire.header(name));
  }

  /** Whether the caller says that it understands this type; nobody means it by a wildcard. */
  public boolean accepts(String type) {
    return header("Accept")
        .map(
            accepted ->
                Arrays.stream(accepted.split(",", -1))
                    .map(part -> part.split(";", 2)[0].strip())
                    .anyMatch(type::equalsIgnoreCase))
        .orElse(false);
  }

  /** The body as a record, every key checked, all problems at once. */
  public <T extends Record> T body(Class<T> type) {
    var problems = new Problems("body");
    byte[] bytes = wholeBody();
    if (bytes.length == 0) {
      bytes = new byte[] {'{', '}'};
    }
    var tree = YamlReader.read(bytes, problems);
    if (tree.isPresent()) {
      T value = new Binder(tree.get(), problems).bind(type);
      if (problems.isEmpty()) {
        return value;
      }
    }
    throw new AgentException.InvalidSpec(
        problems.sorted().stream().map(Problem::toString).collect(Collectors.joining("\n")));
  }

  /** Differs between requests of one route that ask for different things. */
  public String fingerprint() {
    return fingerprint(new TreeMap<>(path).toString(), wholeBody());
  }

  /** Of a text alone. */
  public static String fingerprint(String text) {
    return fingerprint(text, new byte[0]);
  }

  private static String fingerprint(String text, byte[] body) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(text.getBytes(StandardCharsets.UTF_8));
      sha.update((byte) 0);
      sha.update(body);
      return HexFormat.of().formatHex(sha.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /** The body, which has to be small; it is read once. */
  public byte[] wholeBody() {
    byte[] known = whole;
    if (known != null) {
      return known;
    }
    try {
      byte[] bytes = wire.body().readNBytes(LARGEST_BODY + 1);
      if (bytes.length > LARGEST_BODY) {
        throw AccessDenied.tooLarge(LARGEST_BODY);
      }
      whole = bytes;
      return bytes;
    } catch (IOException e) {
      throw new AgentException.Network("the body could not be read: " + e.getMessage(), e);
    }
  }

  /** The body, however large. */
  public InputStream body() {
    return wire.body();
  }
}

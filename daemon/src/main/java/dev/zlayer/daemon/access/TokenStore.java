package dev.zlayer.daemon.access;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.http.Caller;
import dev.zlayer.daemon.http.RandomSecret;
import dev.zlayer.daemon.http.Tokens;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** Scoped tokens. A secret is given out once; what is stored is its hash. */
public final class TokenStore implements Tokens {
  private static final String KIND = "token";
  private static final String PREFIX = "zlt_";
  private static final String NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}";
  private static final String DEPLOYMENT = "[A-Za-z0-9][A-Za-z0-9-]{2,62}";

  private static final StoredFormat FORMAT = StoredFormat.of("the token");

  private final StateStore store;
  private final InstantSource clock;
  private final Map<String, Stored> tokens = new ConcurrentHashMap<>();
  private final List<Consumer<String>> removals = new CopyOnWriteArrayList<>();

  /** What may be shown of a token. */
  public record Info(Token token, Instant created) {
    public boolean expired(Instant now) {
      return token.expires().filter(end -> !now.isBefore(end)).isPresent();
    }
  }

  /** A new token; the only time that its secret is seen. */
  public record Created(Info info, String secret) {
    @Override
    public String toString() {
      return "Created[" + info + "]";
    }
  }

  private record Stored(Info info, String hash) {}

  private TokenStore(StateStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  public static TokenStore open(StateStore store, InstantSource clock) {
    var tokens = new TokenStore(store, clock);
    for (Stored stored : Quarantine.read(store, KIND, TokenStore::read, clock.instant())) {
      tokens.tokens.put(stored.info().token().id(), stored);
    }
    return tokens;
  }

  /**
   * Makes a token.
   *
   * @param name its id when absent
   * @throws AgentException.Conflict another token has that name
   */
  public synchronized Created create(
      Optional<String> name, Caller.Access access, Optional<Duration> lifetime) {
    String id = RandomSecret.id();
    String shown = name.orElse(id);
    requireValid(shown, access, lifetime);
    if (find(tokens.values(), shown).isPresent()) {
      throw new AgentException.Conflict(
          "token '%s' exists already; choose another name, or remove it".formatted(shown));
    }
    String secret = PREFIX + id + "_" + RandomSecret.next();
    Instant now = clock.instant();
    var info = new Info(new Token(id, shown, access, lifetime.map(now::plus)), now);
    var stored = new Stored(info, RandomSecret.hash(secret));
    store.commit(
        new Change(
            List.of(new Change.Put(KIND, id, JsonText.bytes(write(stored)))),
            List.of(event("token.created", info, now))));
    tokens.put(id, stored);
    return new Created(info, secret);
  }

  private static void requireValid(String name, Caller.Access access, Optional<Duration> lifetime) {
    if (!name.matches(NAME)) {
      throw new AgentException.InvalidSpec(
          "token name '%s' is invalid; use up to 63 letters, digits, '.', '_' and '-'"
              .formatted(name));
    }
    if (access instanceof Caller.Access.Deployment(String deployment)
        && (!deployment.matches(DEPLOYMENT) || deployment.equals(ContainerId.STANDALONE))) {
      throw new AgentException.InvalidSpec(
          "'%s' is not the name of a deployment".formatted(deployment));
    }
    if (lifetime.filter(time -> time.isZero() || time.isNegative()).isPresent()) {
      throw new AgentException.InvalidSpec("a token that expires at once is of no use");
    }
  }

  /** All of them, the oldest first; expired ones stay until they are removed. */
  public List<Info> list() {
    return tokens.values().stream()
        .map(Stored::info)
        .sorted(Comparator.comparing(Info::created).thenComparing(info -> info.token().id()))
        .toList();
  }

  /** Removes a token by its name or id; from now on nothing is done with it. */
  public synchronized void remove(String reference) {
    Stored stored =
        find(tokens.values(), reference)
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "token '" + reference + "'", "'zlayer token ls' lists those there are"));
    String id = stored.info().token().id();
    store.commit(
        new Change(
            List.of(new Change.Delete(KIND, id)),
            List.of(event("token.removed", stored.info(), clock.instant()))));
    tokens.remove(id);
    removals.forEach(listener -> listener.accept(id));
  }

  private static Optional<Stored> find(Iterable<Stored> tokens, String reference) {
    for (Stored stored : tokens) {
      Token token = stored.info().token();
      if (token.id().equals(reference) || token.name().equals(reference)) {
        return Optional.of(stored);
      }
    }
    return Optional.empty();
  }

  @Override
  public Optional<Token> find(String secret) {
    int end = PREFIX.length() + RandomSecret.ID_LENGTH;
    if (!secret.startsWith(PREFIX) || secret.length() <= end) {
      return Optional.empty();
    }
    return Optional.ofNullable(tokens.get(secret.substring(PREFIX.length(), end)))
        .filter(stored -> RandomSecret.equal(stored.hash(), RandomSecret.hash(secret)))
        .map(Stored::info)
        .filter(info -> !info.expired(clock.instant()))
        .map(Info::token);
  }

  @Override
  public void onRemoved(Consumer<String> listener) {
    removals.add(listener);
  }

  private static Event event(String kind, Info info, Instant now) {
    return new Event(
        now,
        kind,
        "token:" + info.token().name(),
        Json.object().put("id", info.token().id()).build());
  }

  private static Json write(Stored stored) {
    Token token = stored.info().token();
    return FORMAT
        .begin()
        .put("id", token.id())
        .put("name", token.name())
        .put("scope", token.access() instanceof Caller.Access.ReadOnly ? "read-only" : "deployment")
        .putIf(
            "deployment",
            token.access() instanceof Caller.Access.Deployment(String name)
                ? Optional.of(name)
                : Optional.empty())
        .put("created", stored.info().created().toString())
        .putIf("expires", token.expires().map(Instant::toString))
        .put("sha256", stored.hash())
        .build();
  }

  private static Stored read(byte[] record) {
    Json json = FORMAT.upgrade(JsonText.parse(record), "state.db");
    String id = json.at("id").string().orElseThrow();
    Optional<String> deployment = json.at("deployment").string();
    Caller.Access access =
        deployment
            .<Caller.Access>map(Caller.Access.Deployment::new)
            .orElseGet(Caller.Access.ReadOnly::new);
    return new Stored(
        new Info(
            new Token(
                id,
                json.at("name").string().orElse(id),
                access,
                json.at("expires").string().map(Instant::parse)),
            json.at("created").string().map(Instant::parse).orElse(Instant.EPOCH)),
        json.at("sha256").string().orElseThrow());
  }
}

package dev.zlayer.daemon.web;

import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.BrowserSessions;
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
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Links that log in once, and the sessions that they began. Links are in memory: they are for the
 * next minutes. Sessions outlive the agent, so that a page continues after an update; what is
 * stored is the hash of their cookie.
 */
public final class DashboardSessions implements BrowserSessions {
  static final Duration LINK = Duration.ofMinutes(5);
  public static final Duration STANDARD = Duration.ofHours(12);
  static final Duration LONGEST = Duration.ofDays(30);
  static final int FAILURES = 10;
  static final Duration WINDOW = Duration.ofMinutes(1);
  static final int MOST_LINKS = 32;
  static final int MOST_SESSIONS = 64;

  private static final String KIND = "dashboard-session";
  private static final StoredFormat FORMAT = StoredFormat.of("the session of the dashboard");
  private static final String AGENT_KIND = "dashboard";
  private static final String AGENT_KEY = "agent";
  private static final int MOST_ADDRESSES = 1024;

  private final StateStore store;
  private final InstantSource clock;
  private final String cookie;
  private final Map<String, Link> links = new LinkedHashMap<>();
  private final Map<String, Failures> failures = new LinkedHashMap<>();
  private final Map<String, Stored> sessions = new ConcurrentHashMap<>();
  private final List<Consumer<String>> revocations = new CopyOnWriteArrayList<>();

  /** What may be shown of a session. */
  public record Info(
      String id, String user, boolean readOnly, Instant created, Instant expires, String browser) {
    boolean expired(Instant now) {
      return !now.isBefore(expires);
    }
  }

  /** A session that has just begun; the only time that its cookie is seen. */
  record Login(Info info, String cookie) {
    @Override
    public String toString() {
      return "Login[" + info + "]";
    }
  }

  private record Link(String user, boolean readOnly, Duration lifetime, Instant expires) {}

  private record Stored(Info info, String hash) {}

  private record Failures(Instant since, int count) {}

  private DashboardSessions(StateStore store, InstantSource clock, String cookie) {
    this.store = store;
    this.clock = clock;
    this.cookie = cookie;
  }

  public static DashboardSessions open(StateStore store, InstantSource clock) {
    var sessions = new DashboardSessions(store, clock, "zlayer_" + agent(store));
    for (Stored stored : Quarantine.read(store, KIND, DashboardSessions::read, clock.instant())) {
      sessions.sessions.put(stored.info().id(), stored);
    }
    sessions.removeExpired();
    return sessions;
  }

  /** Names this agent among others of the same host, for whose pages a browser has one jar. */
  private static String agent(StateStore store) {
    Optional<byte[]> known = store.find(AGENT_KIND, AGENT_KEY);
    if (known.isPresent()) {
      return new String(known.get(), StandardCharsets.US_ASCII);
    }
    String id = RandomSecret.id();
    store.commit(
        new Change(
            List.of(new Change.Put(AGENT_KIND, AGENT_KEY, id.getBytes(StandardCharsets.US_ASCII))),
            List.of()));
    return id;
  }

  /** Makes the secret of a link, which begins one session within five minutes. */
  synchronized String createLink(String user, boolean readOnly, Duration lifetime) {
    if (lifetime.isZero() || lifetime.isNegative() || lifetime.compareTo(LONGEST) > 0) {
      throw new AgentException.InvalidSpec(
          "a session of the dashboard lasts up to %d days".formatted(LONGEST.toDays()));
    }
    Instant now = clock.instant();
    links.values().removeIf(link -> !now.isBefore(link.expires()));
    if (links.size() >= MOST_LINKS) {
      links.remove(links.keySet().iterator().next());
    }
    String secret = RandomSecret.next();
    links.put(RandomSecret.hash(secret), new Link(user, readOnly, lifetime, now.plus(LINK)));
    return secret;
  }

  /**
   * Begins the session of a link, which is then used up.
   *
   * @param remote whose failures count together
   * @throws AccessDenied the link is unknown, used or too old, or too many of that address were
   */
  synchronized Login login(String secret, String remote, String browser) {
    Instant now = clock.instant();
    requireFewFailures(remote, now);
    Link link = links.remove(RandomSecret.hash(secret));
    if (link == null || !now.isBefore(link.expires())) {
      fail(remote, now);
      throw AccessDenied.noLink(
          "the link is unknown, was used already or is older than %d minutes: run 'zlayer dashboard' for another"
              .formatted(LINK.toMinutes()));
    }
    removeExpired();
    if (sessions.size() >= MOST_SESSIONS) {
      throw AccessDenied.tooMany(
          "there are %d sessions already: end one with 'zlayer dashboard revoke'"
              .formatted(MOST_SESSIONS));
    }
    String id = RandomSecret.id();
    String value = id + "_" + RandomSecret.next();
    var info =
        new Info(
            id,
            link.user(),
            link.readOnly(),
            now,
            now.plus(link.lifetime()),
            browser.length() > 200 ? browser.substring(0, 200) : browser);
    var stored = new Stored(info, RandomSecret.hash(value));
    store.commit(
        new Change(
            List.of(new Change.Put(KIND, id, JsonText.bytes(write(stored)))),
            List.of(event("dashboard.login", info, now))));
    sessions.put(id, stored);
    return new Login(info, value);
  }

  private void requireFewFailures(String remote, Instant now) {
    Failures seen = failures.get(remote);
    if (seen != null && now.isBefore(seen.since().plus(WINDOW)) && seen.count() >= FAILURES) {
      throw AccessDenied.tooMany("too many failed logins: try again in a minute");
    }
  }

  private void fail(String remote, Instant now) {
    failures.values().removeIf(seen -> !now.isBefore(seen.since().plus(WINDOW)));
    if (failures.size() >= MOST_ADDRESSES) {
      failures.remove(failures.keySet().iterator().next());
    }
    failures.merge(
        remote, new Failures(now, 1), (old, _) -> new Failures(old.since(), old.count() + 1));
  }

  /** All that have not expired, the oldest first. */
  public List<Info> list() {
    Instant now = clock.instant();
    return sessions.values().stream()
        .map(Stored::info)
        .filter(info -> !info.expired(now))
        .sorted(Comparator.comparing(Info::created).thenComparing(Info::id))
        .toList();
  }

  /** Ends a session and its open connections. */
  public synchronized void revoke(String id) {
    Stored stored = sessions.get(id);
    if (stored == null) {
      throw new AgentException.NotFound(
          "session '" + id + "'", "'zlayer dashboard sessions' lists those there are");
    }
    store.commit(
        new Change(
            List.of(new Change.Delete(KIND, id)),
            List.of(event("dashboard.logout", stored.info(), clock.instant()))));
    sessions.remove(id);
    revocations.forEach(listener -> listener.accept(id));
  }

  private void removeExpired() {
    Instant now = clock.instant();
    List<Change.Write> deleted = new ArrayList<>();
    for (Stored stored : List.copyOf(sessions.values())) {
      if (stored.info().expired(now)) {
        deleted.add(new Change.Delete(KIND, stored.info().id()));
      }
    }
    if (!deleted.isEmpty()) {
      store.commit(new Change(deleted, List.of()));
      deleted.forEach(write -> sessions.remove(write.key()));
    }
  }

  @Override
  public String cookie() {
    return cookie;
  }

  @Override
  public Optional<Session> find(String value) {
    return info(value)
        .map(
            info ->
                new Session(
                    new Tokens.Token(
                        info.id(),
                        info.user(),
                        info.readOnly() ? new Caller.Access.ReadOnly() : new Caller.Access.Full(),
                        Optional.of(info.expires())),
                    RandomSecret.hash("csrf " + value)));
  }

  /** The session of a value of the cookie, unless it has ended. */
  Optional<Info> info(String value) {
    if (value.length() <= RandomSecret.ID_LENGTH) {
      return Optional.empty();
    }
    return Optional.ofNullable(sessions.get(value.substring(0, RandomSecret.ID_LENGTH)))
        .filter(stored -> RandomSecret.equal(stored.hash(), RandomSecret.hash(value)))
        .map(Stored::info)
        .filter(info -> !info.expired(clock.instant()));
  }

  @Override
  public void onRevoked(Consumer<String> listener) {
    revocations.add(listener);
  }

  private static Event event(String kind, Info info, Instant now) {
    return new Event(
        now,
        kind,
        "dashboard:" + info.id(),
        Json.object().put("user", info.user()).put("read_only", info.readOnly()).build());
  }

  private static Json write(Stored stored) {
    Info info = stored.info();
    return FORMAT
        .begin()
        .put("id", info.id())
        .put("user", info.user())
        .put("read_only", info.readOnly())
        .put("created", info.created().toString())
        .put("expires", info.expires().toString())
        .put("browser", info.browser())
        .put("sha256", stored.hash())
        .build();
  }

  private static Stored read(byte[] record) {
    Json json = FORMAT.upgrade(JsonText.parse(record), "state.db");
    return new Stored(
        new Info(
            json.at("id").string().orElseThrow(),
            json.at("user").string().orElse(""),
            json.at("read_only").bool().orElse(true),
            json.at("created").string().map(Instant::parse).orElse(Instant.EPOCH),
            json.at("expires").string().map(Instant::parse).orElse(Instant.EPOCH),
            json.at("browser").string().orElse("")),
        json.at("sha256").string().orElseThrow());
  }
}

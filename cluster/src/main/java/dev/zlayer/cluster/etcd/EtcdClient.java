package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.etcd.EtcdConfig.Login;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLContext;

/**
 * Calls of etcd's JSON gateway. A call goes to the member that answered last, and to the next one
 * when that cannot be reached or has no leader. What may have been done already is not done again.
 */
public final class EtcdClient implements AutoCloseable {
  private static final Duration CONNECT_LIMIT = Duration.ofSeconds(2);

  /** A member that does not answer for so long is left for another one, if reading is all. */
  private static final Duration MEMBER_LIMIT = Duration.ofSeconds(3);

  /** The same for what cannot wait: a lease ends meanwhile. */
  private static final Duration RENEWAL_LIMIT = Duration.ofSeconds(1);

  private static final Duration PAUSE = Duration.ofMillis(50);

  /** While somebody changes users, which takes a few requests. */
  private static final Duration CHANGING = Duration.ofMillis(10);

  /** Members refuse these before anything is done. */
  private static final List<String> NOT_DONE =
      List.of(
          "etcdserver: no leader",
          "etcdserver: not leader",
          "etcdserver: leader changed",
          "etcdserver: rpc not supported for learner",
          "etcdserver: too many requests",
          "connection error: desc = \"transport: Error while dialing");

  /** Said also after a change was handed to the other members, so only reading is repeated. */
  private static final List<String> ENDED =
      List.of(
          "etcdserver: request timed",
          "etcdserver: server stopped",
          "raft: stopped",
          "error reading from server",
          "grpc: the client connection is closing",
          "context canceled");

  /** In what the gateway of a member that ends says: it is a client of that member. */
  private static final String TRANSPORT = "transport";

  /**
   * The member does not know the token: it restarted, was not asked for long, or never heard it.
   */
  private static final Set<String> TOKEN_ENDED =
      Set.of("etcdserver: invalid auth token", "etcdserver: user name is empty");

  /** Users or roles were changed while it was asked; nothing was done. */
  private static final Set<String> USERS_CHANGED =
      Set.of("auth: revision in header is old", "etcdserver: revision of auth store is old");

  private static final String NO_USERS = "etcdserver: authentication is not enabled";

  /** So often a call is tried again because of tokens; each login is a request, too. */
  private static final int LOGINS = 3;

  /** What a member said when it refused. */
  static final class Refused extends Exception {
    private static final long serialVersionUID = 1;

    Refused(String message) {
      super(message);
    }

    String reason() {
      return String.valueOf(getMessage());
    }
  }

  /** Whether a call can be repeated without harm. */
  enum Kind {
    READ,
    /** Of a lease: as harmless as reading. */
    RENEW,
    WRITE
  }

  private volatile HttpClient http;
  private final Pauses pauses;
  private volatile List<URI> endpoints;
  private final AtomicInteger member = new AtomicInteger();
  private volatile Optional<Login> login;
  private volatile Optional<String> token = Optional.empty();

  /** One thread logs in at a time, and the others use what it got. */
  private final ReentrantLock logins = new ReentrantLock();

  private EtcdClient(EtcdConfig config, HttpClient http, Pauses pauses) {
    this.login = config.login();
    this.endpoints = config.endpoints();
    this.http = http;
    this.pauses = pauses;
  }

  public static EtcdClient open(EtcdConfig config) {
    return new EtcdClient(config, http(config.tls()), Pauses.REAL);
  }

  private static HttpClient http(Optional<SSLContext> tls) {
    var builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .connectTimeout(CONNECT_LIMIT);
    tls.ifPresent(builder::sslContext);
    return builder.build();
  }

  /**
   * Connects with another certificate from now on. What is under way ends as it began, and so does
   * a watch; a session of the old certificate is not resumed, which members would refuse when that
   * was revoked.
   *
   * @param user that belongs to it
   */
  public void use(SSLContext next, Optional<Login> user) {
    http = http(Optional.of(next)); // the old one ends when nothing uses it any more
    login = user;
    token = Optional.empty();
  }

  /** The next call logs in anew. */
  void forgetToken() {
    token = Optional.empty();
  }

  /** The answer, or why the member refused. */
  Json call(String path, Json body, Kind kind, Deadline deadline)
      throws Refused, InterruptedException {
    String last = "no member was asked";
    int tried = 0;
    while (!deadline.passed()) {
      int index = member.get();
      try {
        return once(endpoint(index), path, body, kind, deadline);
      } catch (Refused e) {
        boolean elsewhere = NOT_DONE.stream().anyMatch(e.reason()::startsWith);
        boolean readAgain = kind != Kind.WRITE && ended(e);
        if (!elsewhere && !readAgain) {
          throw e;
        }
        last = e.reason();
      } catch (IOException e) {
        if (kind == Kind.WRITE && !unsent(e)) {
          leave(index);
          throw new AgentException.Network(
              "the connection to etcd broke; whether the change was made is unknown: " + reason(e),
              e);
        }
        last = "%s: %s".formatted(endpoint(index), reason(e));
      } catch (TimeoutException _) {
        if (kind == Kind.WRITE) {
          leave(index);
          throw new AgentException.Timeout("changing the state of the cluster", deadline.limit());
        }
        last = endpoint(index) + " did not answer";
      }
      leave(index);
      tried++;
      if (tried % endpoints.size() == 0 && !deadline.passed()) {
        Duration left = deadline.left();
        pauses.pause(left.compareTo(PAUSE) < 0 ? left : PAUSE);
      }
    }
    throw new AgentException.Network("no member of etcd answers: " + last);
  }

  /** Whoever asks next asks another member: this one may be frozen, and would fail all of them. */
  private void leave(int index) {
    boolean _ = member.compareAndSet(index, index + 1);
  }

  /** As above, where every refusal is a fault. */
  Json ask(String path, Json body, Kind kind, Deadline deadline) throws InterruptedException {
    try {
      return call(path, body, kind, deadline);
    } catch (Refused e) {
      throw refusal(e);
    }
  }

  private static boolean ended(Refused e) {
    return e.reason().contains(TRANSPORT) || ENDED.stream().anyMatch(e.reason()::startsWith);
  }

  static AgentException refusal(Refused e) {
    if (e.reason().contains("database space exceeded")) {
      return new AgentException.Busy(
          "the store of the cluster is full; remove deployments, and see 'Limits' of"
              + " docs/cluster.md");
    }
    return ended(e)
        ? new AgentException.Network(
            "etcd did not answer in time; whether the change was made is unknown")
        : new AgentException.Network("etcd refused: " + e.reason(), e);
  }

  private Json once(URI endpoint, String path, Json body, Kind kind, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    int tried = 0;
    while (true) {
      Optional<String> used = token(endpoint, kind, deadline);
      try {
        return send(endpoint, path, body, used, kind, deadline);
      } catch (Refused e) {
        if (login.isPresent() && TOKEN_ENDED.contains(e.reason()) && tried < LOGINS) {
          tried++;
          forget(used);
        } else if (USERS_CHANGED.contains(e.reason()) && !deadline.passed()) {
          pauses.pause(deadline.atMost(CHANGING).left());
        } else {
          throw e;
        }
      }
    }
  }

  /** Another thread may have got a newer one meanwhile; to lose that costs one more login. */
  private void forget(Optional<String> used) {
    if (token.equals(used)) {
      token = Optional.empty();
    }
  }

  private Optional<String> token(URI endpoint, Kind kind, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    Optional<String> known = token;
    if (login.isEmpty() || known.isPresent()) {
      return known;
    }
    if (!logins.tryLock(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
      throw new TimeoutException();
    }
    try {
      Optional<Login> user = login;
      if (token.isEmpty() && user.isPresent()) {
        Optional<String> made = logIn(endpoint, user.get(), kind, deadline);
        if (login.equals(user)) {
          token = made;
        }
        return made;
      }
      return token;
    } finally {
      logins.unlock();
    }
  }

  /** Empty while etcd has no users. */
  private Optional<String> logIn(URI endpoint, Login user, Kind kind, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    Json body = Json.object().put("name", user.user()).put("password", user.password()).build();
    Kind harmless = kind == Kind.RENEW ? Kind.RENEW : Kind.READ;
    try {
      return send(endpoint, "/v3/auth/authenticate", body, Optional.empty(), harmless, deadline)
          .at("token")
          .string();
    } catch (Refused e) {
      if (e.reason().equals(NO_USERS)) {
        return Optional.empty();
      }
      if (ended(e)) {
        throw new NotLoggedIn(e.reason(), e);
      }
      throw e;
    } catch (IOException e) {
      throw new NotLoggedIn(reason(e), e);
    } catch (TimeoutException e) {
      throw new NotLoggedIn("it did not answer", e);
    }
  }

  /** The call itself was not made: another member can be asked, whatever it is. */
  private static final class NotLoggedIn extends IOException {
    private static final long serialVersionUID = 1;

    NotLoggedIn(String reason, Exception cause) {
      super("cannot log in: " + reason, cause);
    }
  }

  private Json send(
      URI endpoint, String path, Json body, Optional<String> token, Kind kind, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    Deadline limit =
        switch (kind) {
          case READ -> deadline.atMost(MEMBER_LIMIT);
          case RENEW -> deadline.atMost(RENEWAL_LIMIT);
          case WRITE -> deadline;
        };
    HttpResponse<byte[]> response =
        await(
            http.sendAsync(request(endpoint, path, body, token), BodyHandlers.ofByteArray()),
            limit.left());
    Json json = parse(response.body());
    if (response.statusCode() == 200 && json.at("error").isNull()) {
      return json;
    }
    throw refused(json, response.statusCode());
  }

  static Refused refused(Json json, int status) {
    Json error = json.at("error");
    return new Refused(
        error
            .string()
            .or(() -> error.at("message").string()) // in a stream
            .or(() -> json.at("message").string()) // of 3.5, as packages of Debian have it
            .orElse("status %d of the gateway".formatted(status)));
  }

  private static Json parse(byte[] body) throws IOException {
    try {
      // a stream with one element is one line
      return JsonText.parse(body);
    } catch (AgentException.InvalidSpec e) {
      throw new IOException("not an answer of etcd: " + e.getMessage(), e);
    }
  }

  /** A stream of answers, one JSON value per line, from the member that is asked next. */
  InputStream stream(String path, Json body, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    URI endpoint = endpoint(member.get());
    for (int left = LOGINS; ; left--) {
      Optional<String> used = token(endpoint, Kind.READ, deadline);
      HttpResponse<InputStream> response =
          await(
              http.sendAsync(request(endpoint, path, body, used), BodyHandlers.ofInputStream()),
              deadline.left());
      if (response.statusCode() == 200) {
        return response.body();
      }
      try (InputStream in = response.body()) {
        Refused refused = refused(parse(in.readNBytes(10_000)), response.statusCode());
        if (login.isEmpty() || left == 0 || !TOKEN_ENDED.contains(refused.reason())) {
          throw refused;
        }
      }
      forget(used);
    }
  }

  /** Sends lines to a subscriber until it or the member ends them. */
  CompletableFuture<HttpResponse<Void>> lines(
      String path, Json body, EtcdWatch.Lines lines, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    URI endpoint = endpoint(member.get());
    CompletableFuture<HttpResponse<Void>> response =
        http.sendAsync(
            request(endpoint, path, body, token(endpoint, Kind.READ, deadline)),
            BodyHandlers.fromLineSubscriber(lines));
    // a connection that cannot be made never reaches the subscriber
    var _ = response.whenComplete((_, _) -> lines.onComplete());
    return response;
  }

  /** Asks another member from now on. */
  void next() {
    member.incrementAndGet();
  }

  /** Asks these members from now on. */
  public void endpoints(List<URI> members) {
    if (members.isEmpty()) {
      throw new IllegalArgumentException("no endpoint");
    }
    endpoints = List.copyOf(members);
  }

  private static HttpRequest request(URI endpoint, String path, Json body, Optional<String> token) {
    var builder =
        HttpRequest.newBuilder(endpoint.resolve(path))
            .header("Content-Type", "application/json")
            // members without a leader refuse and end watches, instead of being silent
            .header("Grpc-Metadata-hasleader", "true")
            .POST(HttpRequest.BodyPublishers.ofByteArray(JsonText.bytes(body)));
    token.ifPresent(value -> builder.header("Authorization", value));
    return builder.build();
  }

  private static <T> T await(CompletableFuture<T> answer, Duration limit)
      throws IOException, TimeoutException, InterruptedException {
    try {
      return answer.get(limit.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException failure) {
        throw failure;
      }
      throw new IOException(String.valueOf(e.getCause()), e);
    } finally {
      // ends what is still under way, and nothing otherwise
      answer.cancel(true);
    }
  }

  /** It was never sent, so no member has seen the request. */
  private static boolean unsent(IOException e) {
    return e instanceof NotLoggedIn
        || e instanceof ConnectException
        || e instanceof HttpConnectTimeoutException
        || e instanceof javax.net.ssl.SSLHandshakeException;
  }

  private static String reason(IOException e) {
    return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
  }

  private URI endpoint(int index) {
    List<URI> known = endpoints;
    return known.get(Math.floorMod(index, known.size()));
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}

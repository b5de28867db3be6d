package dev.zlayer.cluster.etcd;

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

  /** Members refuse these before anything is done. */
  private static final List<String> NOT_DONE =
      List.of(
          "etcdserver: no leader",
          "etcdserver: not leader",
          "etcdserver: leader changed",
          "etcdserver: rpc not supported for learner",
          "etcdserver: too many requests");

  /** Said also after a change was handed to the other members, so only reading is repeated. */
  private static final List<String> ENDED =
      List.of("etcdserver: request timed", "etcdserver: server stopped", "raft: stopped");

  private static final Set<String> TOKEN_ENDED =
      Set.of("etcdserver: invalid auth token", "etcdserver: user name is empty");

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

  private final EtcdConfig config;
  private volatile HttpClient http;
  private final Pauses pauses;
  private volatile List<URI> endpoints;
  private final AtomicInteger member = new AtomicInteger();
  private volatile Optional<String> token = Optional.empty();

  private EtcdClient(EtcdConfig config, HttpClient http, Pauses pauses) {
    this.config = config;
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
   */
  public void tls(SSLContext next) {
    http = http(Optional.of(next)); // the old one ends when nothing uses it any more
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
        boolean readAgain = kind != Kind.WRITE && ENDED.stream().anyMatch(e.reason()::startsWith);
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

  static AgentException refusal(Refused e) {
    if (e.reason().contains("database space exceeded")) {
      return new AgentException.Busy(
          "the store of the cluster is full; remove deployments, and see 'Limits' of"
              + " docs/cluster.md");
    }
    return ENDED.stream().anyMatch(e.reason()::startsWith)
        ? new AgentException.Network(
            "etcd did not answer in time; whether the change was made is unknown")
        : new AgentException.Network("etcd refused: " + e.reason(), e);
  }

  private Json once(URI endpoint, String path, Json body, Kind kind, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    Optional<String> used = token(endpoint, deadline);
    try {
      return send(endpoint, path, body, used, kind, deadline);
    } catch (Refused e) {
      if (config.login().isEmpty() || !TOKEN_ENDED.contains(e.reason())) {
        throw e;
      }
      token = Optional.empty();
      return send(endpoint, path, body, token(endpoint, deadline), kind, deadline);
    }
  }

  private Optional<String> token(URI endpoint, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    Optional<String> known = token;
    if (config.login().isEmpty() || known.isPresent()) {
      return known;
    }
    EtcdConfig.Login login = config.login().get();
    Json body = Json.object().put("name", login.user()).put("password", login.password()).build();
    Json answer =
        send(endpoint, "/v3/auth/authenticate", body, Optional.empty(), Kind.READ, deadline);
    Optional<String> made = answer.at("token").string();
    token = made;
    return made;
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
    HttpResponse<InputStream> response =
        await(
            http.sendAsync(
                request(endpoint, path, body, token(endpoint, deadline)),
                BodyHandlers.ofInputStream()),
            deadline.left());
    if (response.statusCode() != 200) {
      try (InputStream in = response.body()) {
        throw refused(parse(in.readNBytes(10_000)), response.statusCode());
      }
    }
    return response.body();
  }

  /** Sends lines to a subscriber until it or the member ends them. */
  CompletableFuture<HttpResponse<Void>> lines(
      String path, Json body, EtcdWatch.Lines lines, Deadline deadline)
      throws Refused, IOException, TimeoutException, InterruptedException {
    URI endpoint = endpoint(member.get());
    CompletableFuture<HttpResponse<Void>> response =
        http.sendAsync(
            request(endpoint, path, body, token(endpoint, deadline)),
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

  /** The connection was never made, so no member has seen the request. */
  private static boolean unsent(IOException e) {
    return e instanceof ConnectException
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

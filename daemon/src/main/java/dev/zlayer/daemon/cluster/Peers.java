package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.member.NodeIdentity;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.ClusterListener;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.Duplex;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpHeaders;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.Upgraded;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * Asks other nodes over mutual TLS, by the routes of the agent's own API. A node that is asked this
 * way answers for itself alone, and grants no more than the caller has here.
 */
public final class Peers {
  public static final String BASE = "/api/v1";

  private static final Duration LIMIT = Duration.ofSeconds(4);

  /** Those who are asked to change something ask the store, which may take longer. */
  private static final Duration CHANGE = Duration.ofSeconds(12);

  /** What is passed on ends when the other node was silent for so long, and does not answer. */
  private static final Duration SILENCE = Duration.ofSeconds(10);

  private static final int LARGEST = 64 << 20;

  /** What a caller says that another node has to know. */
  private static final List<String> HEADERS =
      List.of(
          "Accept",
          "Content-Type",
          "If-Match",
          "If-None-Match",
          "Idempotency-Key",
          "Sec-WebSocket-Key",
          "Sec-WebSocket-Version",
          "Sec-WebSocket-Protocol",
          "Sec-WebSocket-Extensions");

  /** Beginnings of the headers that our answers have, in lower case. */
  private static final List<String> OWN = List.of("x-", "zlayer-", "etag");

  private final SSLContext tls;
  private final PeerPulse pulse;
  private final Duration silence;

  /** For questions that have an end. */
  Peers(SSLContext tls) {
    this(tls, new PeerPulse());
  }

  Peers(SSLContext tls, PeerPulse pulse) {
    this(tls, pulse, SILENCE);
  }

  Peers(SSLContext tls, PeerPulse pulse, Duration silence) {
    this.tls = tls;
    this.pulse = pulse;
    this.silence = silence;
  }

  /** What one node answered. */
  private sealed interface Answer {
    record Found(Json json) implements Answer {}

    /** It has no such thing. */
    record Absent() implements Answer {}

    record Failed(Failure failure) implements Answer {}

    /** It could not be reached, or did not answer in time. */
    record Silent() implements Answer {}
  }

  /**
   * An error that a node answered with.
   *
   * @param reason in its words
   */
  public record Failure(int status, String reason, ApiResponse response) {
    private static final int UNCLEAR = 422;

    private static Failure of(int status, String type, byte[] body) {
      return new Failure(
          status, reason(status, body), new ApiResponse.Whole(status, type, body, Map.of()));
    }

    private static Failure unreadable(AgentException e) {
      return new Failure(
          502,
          "its answer cannot be read: " + e.getMessage(),
          new ApiResponse.Whole(502, "", new byte[0], Map.of()));
    }

    private static String reason(int status, byte[] body) {
      try {
        return JsonText.parse(body).at("detail").string().orElse("status " + status);
      } catch (AgentException.InvalidSpec _) {
        return "status " + status; // not in our words
      }
    }

    /** What was asked for means nothing, or several things there. */
    boolean unclear() {
      return status == UNCLEAR;
    }
  }

  /**
   * What several nodes answered.
   *
   * @param found by node, of those that have what was asked for
   * @param silent names of nodes that did not answer in time
   * @param failed by name, of those that answered with an error
   */
  public record Answers(Map<Peer, Json> found, List<String> silent, Map<String, Failure> failed) {
    /** Names the nodes that are missing in an answer, for those who read it. */
    public static final String HEADER = "X-Zlayer-Missing-Nodes";

    /** Says why, for those of them that answered with an error. */
    public static final String ERRORS = "X-Zlayer-Node-Errors";

    private static final int LONGEST_REASON = 500;

    public Answers {
      found = Collections.unmodifiableMap(new LinkedHashMap<>(found));
      silent = List.copyOf(silent);
      failed = Collections.unmodifiableMap(new LinkedHashMap<>(failed));
    }

    public Map<String, String> headers() {
      var missing = new ArrayList<>(silent);
      missing.addAll(failed.keySet());
      if (missing.isEmpty()) {
        return Map.of();
      }
      var headers = new LinkedHashMap<String, String>();
      headers.put(HEADER, String.join(",", missing));
      if (!failed.isEmpty()) {
        var errors = new ArrayList<String>();
        failed.forEach(
            (node, failure) -> {
              String reason = failure.reason();
              String shown = reason.substring(0, Math.min(reason.length(), LONGEST_REASON));
              errors.add(node + "=" + URLEncoder.encode(shown, StandardCharsets.UTF_8));
            });
        headers.put(ERRORS, String.join("&", errors));
      }
      return headers;
    }

    /** The error of a node for which what was asked for is not clear. */
    public Optional<ApiResponse> unclear() {
      return failed.values().stream().filter(Failure::unclear).map(Failure::response).findFirst();
    }

    /** Where something may be that was not found; empty when all have said that they have not. */
    public Optional<String> doubt() {
      var parts = new ArrayList<String>();
      if (!silent.isEmpty()) {
        parts.add("these did not answer: " + String.join(", ", silent));
      }
      failed.forEach(
          (node, failure) ->
              parts.add("node '%s' answered with an error: %s".formatted(node, failure.reason())));
      return parts.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", parts));
    }
  }

  private Answer get(Peer peer, String target, Optional<String> deployment, Duration limit)
      throws InterruptedException {
    HttpRequest plain = HttpRequest.get(BASE + target).with("Accept", ApiRequest.JSON);
    HttpRequest request =
        deployment.map(only -> plain.with(ClusterListener.DEPLOYMENT, only)).orElse(plain);
    try (HttpClient client = client(peer);
        HttpResponse response = client.send(request, Deadline.after(limit))) {
      if (response.status() == 404) {
        return new Answer.Absent();
      }
      if (!response.success()) {
        return new Answer.Failed(
            Failure.of(
                response.status(),
                response.headers().first("Content-Type").orElse(""),
                response.bytes(LARGEST)));
      }
      return new Answer.Found(JsonText.parse(response.text(LARGEST)));
    } catch (AgentException.Network | AgentException.Timeout _) {
      return new Answer.Silent();
    } catch (AgentException e) {
      return new Answer.Failed(Failure.unreadable(e));
    }
  }

  /**
   * Asks all at once.
   *
   * @param deployment the only one that the caller may see; all when empty
   */
  public Answers getAll(List<Peer> peers, String target, Optional<String> deployment)
      throws InterruptedException {
    var targets = new LinkedHashMap<Peer, String>();
    peers.forEach(peer -> targets.put(peer, target));
    return getAll(targets, deployment);
  }

  /** Asks all at once, each for something else. */
  public Answers getAll(Map<Peer, String> targets, Optional<String> deployment)
      throws InterruptedException {
    return getAll(targets, deployment, LIMIT);
  }

  /** Asks all at once for what takes them a while. */
  public Answers getAll(Map<Peer, String> targets, Optional<String> deployment, Duration limit)
      throws InterruptedException {
    var tasks = new LinkedHashMap<Peer, TaskScope.Task<Answer>>();
    try (var scope = new TaskScope("ask nodes")) {
      targets.forEach(
          (peer, target) ->
              tasks.put(peer, scope.fork(() -> get(peer, target, deployment, limit))));
      scope.join();
    }
    var found = new LinkedHashMap<Peer, Json>();
    var silent = new ArrayList<String>();
    var failed = new LinkedHashMap<String, Failure>();
    tasks.forEach(
        (peer, task) -> {
          switch (task.result()) {
            case Answer.Found(Json json) -> found.put(peer, json);
            case Answer.Absent() -> {}
            case Answer.Failed(Failure failure) -> failed.put(peer.name(), failure);
            case Answer.Silent() -> silent.add(peer.name());
          }
        });
    return new Answers(found, silent, failed);
  }

  /**
   * Opens an answer that is read line by line as it comes, and has no end.
   *
   * @param deployment the only one that the caller may see; all when empty
   * @param silence it breaks when nothing came for that long
   */
  public PeerLines open(
      Peer peer, String target, String type, Optional<String> deployment, Duration silence)
      throws InterruptedException {
    HttpRequest plain = HttpRequest.get(BASE + target).with("Accept", type);
    HttpRequest request =
        deployment.map(only -> plain.with(ClusterListener.DEPLOYMENT, only)).orElse(plain);
    HttpClient client = client(peer);
    try {
      HttpResponse response = client.send(request, silence);
      if (!response.success()) {
        throw new AgentException.Network(
            "answered with an error: "
                + Failure.reason(response.status(), response.bytes(LARGEST)));
      }
      return new PeerLines(client, response);
    } catch (AgentException | InterruptedException e) {
      client.close();
      throw e;
    }
  }

  /** Has another node do something, and waits for its answer. */
  public ApiResponse.Whole send(Peer peer, HttpRequest request) throws InterruptedException {
    try (HttpClient client = client(peer);
        HttpResponse response = client.send(request, Deadline.after(CHANGE))) {
      return new ApiResponse.Whole(
          response.status(),
          response.headers().first("Content-Type").orElse(""),
          response.bytes(LARGEST),
          Map.of());
    }
  }

  private HttpClient client(Peer peer) {
    return HttpClient.open(new HttpAddress.Tls(peer.address(), NodeIdentity.AGENT_PORT, tls));
  }

  private boolean answers(Peer peer, Deadline deadline) throws InterruptedException {
    try (HttpClient client = client(peer);
        HttpResponse response = client.send(HttpRequest.get(BASE + "/ping"), deadline)) {
      var _ = response.bytes(LARGEST);
      return true; // whatever it says
    } catch (AgentException _) {
      return false;
    }
  }

  private boolean beats(Peer peer) throws InterruptedException {
    return pulse.beats(peer, deadline -> answers(peer, deadline));
  }

  /**
   * Has another node answer a request, whatever it is: an answer, a stream, a conversation. It may
   * take as long as it takes while that node answers others, and ends when it does not.
   */
  public ApiResponse forward(Peer peer, ApiRequest call, String target)
      throws InterruptedException {
    HttpHeaders headers = HttpHeaders.NONE;
    for (String name : HEADERS) {
      Optional<String> value = call.header(name);
      if (value.isPresent()) {
        headers = headers.with(name, value.get());
      }
    }
    if (call.deployment().isPresent()) {
      headers = headers.with(ClusterListener.DEPLOYMENT, call.deployment().get());
    }
    Optional<String> upgrade = call.header("Upgrade");
    if (upgrade.isPresent()) {
      return converse(
          peer,
          new HttpRequest("GET", target, headers, new HttpRequest.Body.None())
              .with("Upgrade", upgrade.get()));
    }
    return relay(peer, new HttpRequest(call.method(), target, headers, body(call)));
  }

  /** The same while the caller waits: when that one has left, so does this node. */
  public ApiResponse forwardWhileWaiting(Peer peer, ApiRequest call, String target)
      throws InterruptedException {
    return call.header("Upgrade").isPresent() || hasBody(call)
        ? forward(peer, call, target) // what the caller sends is read meanwhile
        : new ApiResponse.Later(() -> forward(peer, call, target));
  }

  private static HttpRequest.Body body(ApiRequest call) {
    return hasBody(call)
        ? new HttpRequest.Body.Streamed(out -> call.body().transferTo(out))
        : new HttpRequest.Body.None();
  }

  private static boolean hasBody(ApiRequest call) {
    return !List.of("GET", "HEAD", "DELETE").contains(call.method())
        && (call.header("Transfer-Encoding").isPresent()
            || call.header("Content-Length").filter(length -> !length.equals("0")).isPresent());
  }

  ApiResponse relay(Peer peer, HttpRequest request) throws InterruptedException {
    HttpClient client = client(peer);
    HttpResponse response;
    try {
      response = client.send(request, silence, () -> beats(peer));
    } catch (AgentException.Timeout e) {
      client.close();
      throw new AgentException.Network(
          "node '%s' does not answer; what became of the request is unknown".formatted(peer.name()),
          e);
    } catch (AgentException | InterruptedException e) {
      client.close();
      throw e;
    }
    String type = response.headers().first("Content-Type").orElse("");
    if (response.status() != 200) {
      try (client) {
        return new ApiResponse.Whole(response.status(), type, response.bytes(LARGEST), Map.of());
      }
    }
    Map<String, String> headers = passedOn(response.headers());
    if (request.method().equals("HEAD")) {
      try (client;
          response) {
        return new ApiResponse.Whole(200, type, new byte[0], headers);
      }
    }
    return new ApiResponse.Bytes(
        type,
        headers,
        ApiResponse.BytesWriter.closing(
            () -> {
              try (client) {
                response.close();
              }
            },
            out -> PeerConversation.copy(response.body(), out)));
  }

  /** What an answer says of itself in its headers; what concerns the connection stays here. */
  static Map<String, String> passedOn(HttpHeaders headers) {
    var passed = new LinkedHashMap<String, String>();
    headers
        .entries()
        .forEach(
            header -> {
              String name = header.name().toLowerCase(Locale.ROOT);
              boolean own = OWN.stream().anyMatch(name::startsWith);
              if (own && !name.equals("x-request-id")) {
                passed.put(header.name(), header.value());
              }
            });
    return passed;
  }

  private ApiResponse converse(Peer peer, HttpRequest request) throws InterruptedException {
    HttpClient client = client(peer);
    return switch (client.upgrade(request, Deadline.after(LIMIT))) {
      case Upgraded.Refused(HttpResponse response) ->
          new ApiResponse.Whole(
              response.status(),
              response.headers().first("Content-Type").orElse(""),
              response.bytes(LARGEST),
              Map.of());
      case Upgraded.Accepted(HttpHeaders head, Duplex connection) -> {
        var headers = new LinkedHashMap<String, String>();
        head.entries().forEach(one -> headers.put(one.name(), one.value()));
        var relay = new PeerConversation(connection, silence, () -> beats(peer));
        yield new ApiResponse.Hijack("", relay, Optional.of(headers));
      }
    };
  }
}

package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpHeaders;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Asks the daemon. A refusal is a {@link DaemonProblem}, a daemon that is not there a {@link
 * DaemonNotRunning} that says how to get one, a connection that breaks later a {@link
 * ConnectionLost}.
 */
public final class DaemonClient implements AutoCloseable {
  public static final String JSON = "application/json";
  public static final String LINES = "application/x-ndjson";
  public static final String EVENTS = "text/event-stream";
  public static final String TAR = "application/x-tar";
  public static final String YAML = "application/yaml";

  /** Set by a node of a cluster when others did not answer it, or with an error. */
  private static final String MISSING_NODES = "X-Zlayer-Missing-Nodes";

  /** Says why, for those that answered with an error. */
  private static final String NODE_ERRORS = "X-Zlayer-Node-Errors";

  private static final String BASE = "/api/v1";
  private static final int LARGEST_ANSWER = 64 << 20;
  private static final int LARGEST_FRAME = 4 << 20;
  private static final Duration PING = Duration.ofSeconds(5);
  private static final Duration SLOW = Duration.ofSeconds(60);

  private final DaemonAddress address;
  private final HttpClient http;

  /** Nodes of a cluster that are missing in what was answered, and why. */
  private final Map<String, String> missing = Collections.synchronizedMap(new TreeMap<>());

  private DaemonClient(DaemonAddress address) {
    this.address = address;
    this.http = HttpClient.open(address.http());
  }

  public static DaemonClient open(DaemonAddress address) {
    return new DaemonClient(address);
  }

  /** Nodes whose part is missing in the answers so far, by name, with the reason. */
  public Map<String, String> missingNodes() {
    synchronized (missing) {
      return new TreeMap<>(missing);
    }
  }

  public DaemonAddress address() {
    return address;
  }

  /**
   * Whether a daemon answers now.
   *
   * @throws DaemonNotRunning this user may not know that
   */
  public boolean answers() throws InterruptedException {
    try {
      return exchange(request("GET", "/ping", Query.NONE, JSON), Deadline.after(PING)).success();
    } catch (DaemonNotRunning e) {
      if (e.denied()) {
        throw e;
      }
      return false;
    } catch (ConnectionLost | AgentException.Timeout _) {
      return false;
    }
  }

  /**
   * Whether somebody listens there, however busy: systemd does for an agent that it is starting.
   *
   * @throws DaemonNotRunning this user may not know that
   */
  public boolean listens() throws InterruptedException {
    try {
      exchange(request("GET", "/ping", Query.NONE, JSON), Deadline.after(PING)).close();
      return true;
    } catch (AgentException.Timeout _) {
      return true;
    } catch (DaemonNotRunning e) {
      if (e.denied()) {
        throw e;
      }
      return false;
    } catch (ConnectionLost _) {
      return false;
    }
  }

  /**
   * What a daemon says; nothing only when none listens. One that is slow to answer is still one.
   *
   * @throws DaemonNotRunning this user may not know whether there is one
   * @throws AgentException.Timeout it has not answered for long
   */
  public Optional<Json> getIfRunning(String path) throws InterruptedException {
    try {
      return Optional.of(get(path, Query.NONE, Deadline.after(SLOW)));
    } catch (DaemonNotRunning e) {
      if (e.denied()) {
        throw e;
      }
      return Optional.empty();
    }
  }

  public Json get(String path) throws InterruptedException {
    return get(path, Query.NONE);
  }

  public Json get(String path, Query query) throws InterruptedException {
    return json(request("GET", path, query, JSON));
  }

  /** For those who would rather have no answer than wait. */
  public Json get(String path, Query query, Deadline deadline) throws InterruptedException {
    HttpResponse response = checked(request("GET", path, query, JSON), deadline);
    return AnswerJson.parse(response.text(LARGEST_ANSWER));
  }

  public Json delete(String path, Query query) throws InterruptedException {
    return json(request("DELETE", path, query, JSON));
  }

  public Json post(String path, Query query) throws InterruptedException {
    return json(request("POST", path, query, JSON));
  }

  public Json post(String path, Query query, Json body) throws InterruptedException {
    return json(request("POST", path, query, JSON).withJson(JsonText.print(body)));
  }

  /** Sends bytes that are small enough to hold. */
  public Json send(String method, String path, Query query, String type, byte[] body)
      throws InterruptedException {
    return json(
        request(method, path, query, JSON)
            .with("Content-Type", type)
            .withBody(new HttpRequest.Body.Bytes(body)));
  }

  /** Sends what a stream holds, as it comes. */
  public Json upload(String method, String path, Query query, String type, HttpRequest.Writer body)
      throws InterruptedException {
    return json(
        request(method, path, query, JSON)
            .with("Content-Type", type)
            .withBody(new HttpRequest.Body.Streamed(body)));
  }

  /** An answer that is read as it comes; the caller closes it. */
  public HttpResponse download(String path, Query query) throws InterruptedException {
    return checked(request("GET", path, query, "*/*"), Deadline.none());
  }

  /** The value of a header of the answer to HEAD; nothing when there is no such thing. */
  public Optional<String> header(String path, Query query, String name)
      throws InterruptedException {
    try (HttpResponse response = exchange(request("HEAD", path, query, "*/*"), Deadline.none())) {
      return response.success() ? response.headers().first(name) : Optional.empty();
    }
  }

  public JsonLines stream(String path, Query query) throws InterruptedException {
    return lines(request("GET", path, query, LINES));
  }

  /** A long operation that tells its progress. */
  public JsonLines stream(String method, String path, Query query, String type, byte[] body)
      throws InterruptedException {
    HttpRequest request = request(method, path, query, LINES);
    return lines(
        body.length == 0
            ? request
            : request.with("Content-Type", type).withBody(new HttpRequest.Body.Bytes(body)));
  }

  /** A long operation on what a stream holds, which is sent as it comes. */
  public JsonLines stream(String path, Query query, String type, HttpRequest.Writer body)
      throws InterruptedException {
    return lines(
        request("POST", path, query, LINES)
            .with("Content-Type", type)
            .withBody(new HttpRequest.Body.Streamed(body)));
  }

  /** The output behind a path that gives logs. */
  public OutputFrames output(String path, Query query) throws InterruptedException {
    return new OutputFrames(download(path, query.and("format", "frames")));
  }

  /** The output of an execution to its end. */
  public OutputFrames follow(String path, Query query) throws InterruptedException {
    return new OutputFrames(download(path, query));
  }

  /**
   * The output of a container that is made and run by this request.
   *
   * @param words gets what is said about it, between its pieces
   */
  public OutputFrames run(Json body, Consumer<Json> words) throws InterruptedException {
    HttpRequest request = request("POST", "/run", Query.NONE, "*/*");
    return new OutputFrames(
        checked(request.withJson(JsonText.print(body)), Deadline.none()), words);
  }

  public ServerEvents events(Query query) throws InterruptedException {
    return new ServerEvents(checked(request("GET", "/events", query, EVENTS), Deadline.none()));
  }

  /** A terminal, or streams without one. */
  public Channel connect(String path, Query query) throws InterruptedException {
    try {
      HttpHeaders headers = request("GET", path, query, "*/*").headers();
      return switch (WebSocket.open(
          http, BASE + path + query, headers, LARGEST_FRAME, Deadline.none())) {
        case WebSocket.Opened.Accepted(WebSocket socket) -> new Channel(socket);
        case WebSocket.Opened.Refused(HttpResponse response) -> throw problem(response);
      };
    } catch (AgentException.Network e) {
      throw address.explain(e);
    }
  }

  @Override
  public void close() {
    http.close();
  }

  private HttpRequest request(String method, String path, Query query, String accept) {
    HttpRequest request =
        HttpRequest.of(method, BASE + path + query)
            .with("Accept", accept)
            .with("User-Agent", "zlayer-cli");
    return address
        .token()
        .map(token -> request.with("Authorization", "Bearer " + token))
        .orElse(request);
  }

  private Json json(HttpRequest request) throws InterruptedException {
    HttpResponse response = checked(request, Deadline.none());
    String text = response.text(LARGEST_ANSWER);
    return text.isBlank() ? Json.Null.INSTANCE : AnswerJson.parse(text);
  }

  private JsonLines lines(HttpRequest request) throws InterruptedException {
    return new JsonLines(checked(request, Deadline.none()));
  }

  private HttpResponse checked(HttpRequest request, Deadline deadline) throws InterruptedException {
    HttpResponse response = exchange(request, deadline);
    response
        .headers()
        .first(MISSING_NODES)
        .ifPresent(
            names -> {
              for (String name : names.split(",", -1)) {
                missing.put(name, "did not answer");
              }
            });
    response
        .headers()
        .first(NODE_ERRORS)
        .ifPresent(
            errors -> {
              for (String error : errors.split("&", -1)) {
                int equals = error.indexOf('=');
                String reason =
                    URLDecoder.decode(error.substring(equals + 1), StandardCharsets.UTF_8);
                missing.put(error.substring(0, equals), "answered with an error: " + reason);
              }
            });
    if (!response.success()) {
      throw problem(response);
    }
    return response;
  }

  private HttpResponse exchange(HttpRequest request, Deadline deadline)
      throws InterruptedException {
    try {
      return http.send(request, deadline);
    } catch (AgentException.Network e) {
      throw address.explain(e);
    }
  }

  private static DaemonProblem problem(HttpResponse response) throws InterruptedException {
    int status = response.status();
    byte[] body = response.bytes(LARGEST_ANSWER);
    try {
      Json problem = AnswerJson.parse(new String(body, StandardCharsets.UTF_8));
      if (problem.at("detail").string().isPresent()) {
        return new DaemonProblem(problem);
      }
    } catch (AgentException.InvalidSpec _) {
      // not from our daemon; told below
    }
    return new DaemonProblem(
        Json.object()
            .put("kind", "Internal")
            .put("blame", "self")
            .put("status", status)
            .put(
                "detail",
                "the daemon answered with status %d: %s"
                    .formatted(status, new String(body, StandardCharsets.UTF_8).strip()))
            .build());
  }
}

package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.Upgraded;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Questions to the engine in JSON, and what its refusals mean. */
final class DockerApi implements AutoCloseable {
  /** How long an engine may say and take nothing in the middle of a transfer. */
  static final Duration SILENCE = Duration.ofMinutes(15);

  private static final int MAX_ANSWER = 64 << 20;

  private final HttpClient client;
  private final Duration limit;
  private final ApiVersion version;

  private DockerApi(HttpClient client, Duration limit, ApiVersion version) {
    this.client = client;
    this.limit = limit;
    this.version = version;
  }

  /** Speaks as the engine likes, which is good enough to ask it for its versions. */
  static DockerApi of(HttpClient client, Duration limit) {
    return new DockerApi(client, limit, new ApiVersion(""));
  }

  /** The same engine, spoken to in a version. */
  DockerApi in(ApiVersion version) {
    return new DockerApi(client, limit, version);
  }

  private HttpRequest versioned(HttpRequest request) {
    return new HttpRequest(
        request.method(), version.prefix() + request.target(), request.headers(), request.body());
  }

  /** What the engine said. */
  record Answer(int status, Json body) {
    boolean success() {
      return status >= 200 && status < 300;
    }

    /** Its own words in case of a refusal. */
    String message() {
      return body.at("message").string().orElse("the engine answered with status " + status);
    }

    /** This, unless it is a refusal; {@code what} is the thing asked about. */
    Answer required(String what) {
      if (success() || status == 304) {
        return this;
      }
      throw refusal(what);
    }

    AgentException refusal(String what) {
      return switch (status) {
        case 404 -> new AgentException.NotFound(what, message());
        case 400 -> new AgentException.InvalidSpec(what + ": " + message());
        case 409 -> new AgentException.Conflict(what + ": " + message());
        default -> new AgentException.Internal("docker engine, " + what + ": " + message());
      };
    }
  }

  Answer get(String target) throws InterruptedException {
    return send(HttpRequest.get(target), deadline());
  }

  Answer post(String target) throws InterruptedException {
    return send(HttpRequest.of("POST", target), deadline());
  }

  Answer post(String target, Json body) throws InterruptedException {
    return send(HttpRequest.of("POST", target).withJson(JsonText.print(body)), deadline());
  }

  Answer delete(String target) throws InterruptedException {
    return send(HttpRequest.of("DELETE", target), deadline());
  }

  Answer send(HttpRequest request, Deadline deadline) throws InterruptedException {
    return read(open(request, deadline));
  }

  Answer send(HttpRequest request, Duration silence) throws InterruptedException {
    return read(open(request, silence));
  }

  /** For bodies of any length; an engine that hangs is given up after that much silence. */
  HttpResponse open(HttpRequest request, Duration silence) throws InterruptedException {
    return client.send(versioned(request), silence);
  }

  /** For answers that are no JSON or come bit by bit. */
  HttpResponse open(HttpRequest request, Deadline deadline) throws InterruptedException {
    return client.send(versioned(request), deadline);
  }

  Upgraded upgrade(HttpRequest request) throws InterruptedException {
    return client.upgrade(versioned(request).with("Upgrade", "tcp"), deadline());
  }

  /** The rest of a response as an answer. */
  static Answer read(HttpResponse response) throws InterruptedException {
    String text = response.text(MAX_ANSWER);
    boolean json =
        response.headers().first("Content-Type").orElse("").startsWith("application/json");
    return new Answer(
        response.status(), json && !text.isBlank() ? JsonText.parse(text) : Json.Null.INSTANCE);
  }

  Deadline deadline() {
    return Deadline.after(limit);
  }

  /** Something asked of the engine that may be interrupted. */
  @FunctionalInterface
  interface Question<T> {
    T ask() throws InterruptedException;
  }

  /**
   * For operations that do not tell of interrupts: they are short, asked again when an interrupt
   * cut them off, and the flag is there again afterwards.
   */
  static <T> T calmly(Question<T> question) {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return question.ask();
        } catch (InterruptedException _) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    client.close();
  }
}

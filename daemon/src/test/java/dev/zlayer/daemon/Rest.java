package dev.zlayer.daemon;

import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpHeaders;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A caller of the REST API, as any program could be one. */
final class Rest implements AutoCloseable {
  static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int MOST = 64 << 20;
  private static final String PREFIX = "/api/v1";

  private final HttpClient client;
  private final Optional<String> token;

  /** What came back. */
  record Reply(int status, HttpHeaders headers, String text) {
    Json json() {
      return text.isEmpty() ? Json.Null.INSTANCE : JsonText.parse(text);
    }

    List<Json> lines() {
      return text.lines().filter(line -> !line.isBlank()).map(JsonText::parse).toList();
    }

    /** Fails the test with what the agent said when it was not that. */
    Reply expect(int status) {
      if (this.status != status) {
        throw new AssertionError("%d instead of %d: %s".formatted(this.status, status, text));
      }
      return this;
    }
  }

  Rest(HttpAddress address) {
    this(address, Optional.empty());
  }

  private Rest(HttpAddress address, Optional<String> token) {
    this.client = HttpClient.open(address);
    this.token = token;
  }

  /** By TCP, with a token. */
  static Rest with(String token, int port) {
    return new Rest(new HttpAddress.Tcp("127.0.0.1", port), Optional.of(token));
  }

  private HttpHeaders headers() {
    return token
        .map(secret -> HttpHeaders.of("Authorization", "Bearer " + secret))
        .orElse(HttpHeaders.NONE);
  }

  private HttpRequest authorized(HttpRequest request) {
    return token.map(secret -> request.with("Authorization", "Bearer " + secret)).orElse(request);
  }

  static Rest on(Path socket) {
    return new Rest(new HttpAddress.Unix(socket));
  }

  HttpClient client() {
    return client;
  }

  Reply get(String path) throws InterruptedException {
    return send(HttpRequest.get(PREFIX + path));
  }

  Reply delete(String path) throws InterruptedException {
    return send(HttpRequest.of("DELETE", PREFIX + path));
  }

  Reply post(String path) throws InterruptedException {
    return send(HttpRequest.of("POST", PREFIX + path));
  }

  Reply post(String path, String json) throws InterruptedException {
    return send(HttpRequest.of("POST", PREFIX + path).withJson(json));
  }

  Reply put(String path, byte[] body) throws InterruptedException {
    return send(HttpRequest.of("PUT", PREFIX + path).withBody(new HttpRequest.Body.Bytes(body)));
  }

  Reply postBytes(String path, byte[] body) throws InterruptedException {
    return send(HttpRequest.of("POST", PREFIX + path).withBody(new HttpRequest.Body.Bytes(body)));
  }

  Reply send(HttpRequest request) throws InterruptedException {
    try (HttpResponse response = client.send(authorized(request), Deadline.after(TIMEOUT))) {
      return new Reply(response.status(), response.headers(), response.text(MOST));
    }
  }

  /** The bytes of a body. */
  byte[] bytes(String path) throws InterruptedException {
    try (HttpResponse response =
        client.send(authorized(HttpRequest.get(PREFIX + path)), Deadline.after(TIMEOUT))) {
      return response.bytes(MOST);
    }
  }

  /** An answer that goes on; the caller closes it. */
  HttpResponse open(HttpRequest request) throws InterruptedException {
    return client.send(authorized(request), Deadline.none());
  }

  HttpResponse open(String path) throws InterruptedException {
    return open(HttpRequest.get(PREFIX + path));
  }

  WebSocket socket(String path) throws InterruptedException {
    return switch (WebSocket.open(
        client, PREFIX + path, headers(), 1 << 20, Deadline.after(TIMEOUT))) {
      case WebSocket.Opened.Accepted(WebSocket socket) -> socket;
      case WebSocket.Opened.Refused(HttpResponse response) ->
          throw new AssertionError(response.status() + ": " + response.text(MOST));
    };
  }

  @Override
  public void close() {
    client.close();
  }
}

package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * What to ask for.
 *
 * @param target path and query, already encoded
 */
public record HttpRequest(String method, String target, HttpHeaders headers, Body body) {
  /** What follows the headers. */
  public sealed interface Body {
    record None() implements Body {}

    @SuppressWarnings("ArrayRecordComponent") // sent once, compared never
    record Bytes(byte[] bytes) implements Body {}

    /** Of unknown length, sent in chunks while it is written. */
    record Streamed(Writer writer) implements Body {}
  }

  /** Writes a body; the stream stays open. */
  @FunctionalInterface
  public interface Writer {
    void to(OutputStream out) throws IOException;
  }

  public HttpRequest {
    if (method.isEmpty()
        || !within(method, 'A', 'Z')
        || !target.startsWith("/")
        || !within(target, '!', '~')) {
      throw new AgentException.InvalidSpec("request '" + method + " " + target + "' is malformed");
    }
  }

  private static boolean within(String text, char first, char last) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < first || text.charAt(i) > last) {
        return false;
      }
    }
    return true;
  }

  public static HttpRequest get(String target) {
    return of("GET", target);
  }

  public static HttpRequest of(String method, String target) {
    return new HttpRequest(method, target, HttpHeaders.NONE, new Body.None());
  }

  public HttpRequest with(String header, String value) {
    return new HttpRequest(method, target, headers.with(header, value), body);
  }

  public HttpRequest withJson(String json) {
    return with("Content-Type", "application/json")
        .withBody(new Body.Bytes(json.getBytes(StandardCharsets.UTF_8)));
  }

  public HttpRequest withBody(Body body) {
    return new HttpRequest(method, target, headers, body);
  }

  /** For messages. */
  @Override
  public String toString() {
    return method + " " + target;
  }
}

package dev.zlayer.image.registry;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;

/** An answer whose body has not been read yet. The one place that knows HTTP status numbers. */
record RegistryResponse(URI uri, int status, HttpHeaders headers, Body body)
    implements AutoCloseable {
  private static final int MAX_ERROR = 16 << 10;
  private static final int MAX_MESSAGE = 200;

  boolean ok() {
    return status == 200;
  }

  boolean created() {
    return status == 201;
  }

  /** An upload has begun or got further. */
  boolean accepted() {
    return status == 202;
  }

  /** Done without content, as the state of an upload is told. */
  boolean empty() {
    return status == 204;
  }

  boolean absent() {
    return status == 404;
  }

  boolean partial() {
    return status == 206;
  }

  /** Exactly the bytes between two positions, as far as the header tells. */
  boolean delivers(long from, long until) {
    return partial()
        && header("Content-Range").orElse("").startsWith("bytes %d-%d/".formatted(from, until - 1))
        && headers.firstValueAsLong("Content-Length").orElse(-1) == until - from;
  }

  boolean rangeRefused() {
    return status == 416;
  }

  boolean methodRefused() {
    return status == 405 || status == 501;
  }

  boolean challenged() {
    return status == 401;
  }

  boolean redirected() {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  Optional<String> header(String name) {
    return headers.firstValue(name);
  }

  /** What went wrong, with the registry's own words where it has some. */
  RegistryException failure(String who, String what, Instant now) throws InterruptedException {
    String said = message();
    return switch (status) {
      case 404 ->
          new RegistryException(
              RegistryException.Problem.ABSENT, "%s has no %s%s".formatted(who, what, said));
      case 401, 403 ->
          new RegistryException(
              RegistryException.Problem.DENIED,
              "%s denies access to %s%s".formatted(who, what, said));
      case 408, 429, 500, 502, 503, 504 ->
          new RegistryException(
              RegistryException.Problem.BUSY,
              "%s answered %d for %s%s".formatted(who, status, what, said),
              retryAfter(now),
              null);
      default ->
          new RegistryException(
              RegistryException.Problem.UNSOUND,
              "%s answered %d for %s%s".formatted(who, status, what, said));
    };
  }

  /** The first error of the registry's JSON, else nothing: an HTML page helps nobody. */
  private String message() throws InterruptedException {
    try {
      byte[] bytes = body.bytes(MAX_ERROR);
      if (plainToTls(bytes)) {
        return ": it speaks https here, set plainHttp to false for it";
      }
      Json errors =
          bytes.length > MAX_ERROR ? Json.Null.INSTANCE : JsonText.parse(bytes).at("errors");
      return errors.items().stream()
          .flatMap(error -> error.at("message").string().stream())
          .findFirst()
          .map(text -> ": " + printable(text))
          .orElse("");
    } catch (IOException | AgentException.InvalidSpec _) {
      return "";
    }
  }

  private boolean plainToTls(byte[] bytes) {
    return status == 400
        && new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1)
            .contains("HTTP request to an HTTPS server");
  }

  /** Text from outside must not steer a terminal or fill it. */
  static String printable(String text) {
    String clean = text.replaceAll("\\p{Cntrl}+", " ").strip();
    return clean.length() <= MAX_MESSAGE ? clean : clean.substring(0, MAX_MESSAGE) + "...";
  }

  private Optional<Duration> retryAfter(Instant now) {
    Optional<String> text = header("Retry-After").map(String::strip);
    try {
      return text.map(
          value ->
              value.matches("[0-9]{1,9}")
                  ? Duration.ofSeconds(Long.parseLong(value))
                  : Duration.between(
                      now,
                      ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME)
                          .toInstant()));
    } catch (DateTimeException _) {
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    body.close();
  }
}

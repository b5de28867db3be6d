package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/** Parameters of requests as clients of Docker write them. */
final class DockerQuery {
  private static final Set<String> FALSE = Set.of("", "0", "no", "false", "none");

  private static final int MOST_SKIPPED = 256 << 10;

  private DockerQuery() {}

  static Optional<String> text(ApiRequest call, String name) {
    return call.queries(name).stream().findFirst().filter(value -> !value.isEmpty());
  }

  /** Whatever is not a word for no is a yes. */
  static boolean flag(ApiRequest call, String name, boolean standard) {
    List<String> values = call.queries(name);
    return values.isEmpty()
        ? standard
        : !FALSE.contains(values.getFirst().strip().toLowerCase(Locale.ROOT));
  }

  static boolean flag(ApiRequest call, String name) {
    return flag(call, name, false);
  }

  static OptionalInt number(ApiRequest call, String name) {
    Optional<String> text = text(call, name);
    try {
      return text.isEmpty() ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(text.get()));
    } catch (NumberFormatException _) {
      throw DockerError.badRequest(
          "the parameter '%s' is a whole number, not '%s'".formatted(name, text.orElse("")));
    }
  }

  /** Seconds since 1970 with up to nine decimals, or a time as RFC 3339 writes it; 0 is none. */
  static Optional<Instant> time(ApiRequest call, String name) {
    return text(call, name).filter(text -> !text.equals("0")).map(text -> time(name, text));
  }

  private static Instant time(String name, String text) {
    try {
      if (text.matches("-?[0-9]{1,18}(\\.[0-9]{1,18})?")) {
        var seconds = new BigDecimal(text);
        long whole = seconds.longValue();
        return Instant.ofEpochSecond(
            whole, seconds.subtract(BigDecimal.valueOf(whole)).movePointRight(9).longValue());
      }
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeException | ArithmeticException _) {
      throw DockerError.badRequest(
          "invalid value for '%s': '%s' is neither seconds since 1970 nor a time such as 2026-01-31T12:00:00Z"
              .formatted(name, text));
    }
  }

  /** The filters of a listing. */
  static DockerFilters filters(ApiRequest call, Set<String> known) {
    return DockerFilters.parse(text(call, "filters"), known);
  }

  /** The body, an empty object when there is none. */
  static Json body(ApiRequest call) {
    byte[] bytes = call.wholeBody();
    if (bytes.length == 0) {
      return Json.object().build();
    }
    try {
      Json body = JsonText.parse(bytes);
      if (body.isNull()) {
        return Json.object().build();
      }
      if (body instanceof Json.Obj) {
        return body;
      }
    } catch (AgentException.InvalidSpec e) {
      throw DockerError.badRequest("invalid JSON: " + e.getMessage());
    }
    throw DockerError.badRequest("invalid JSON: the body has to be an object");
  }

  static OptionalLong integer(Json json) {
    return json.integer().map(OptionalLong::of).orElseGet(OptionalLong::empty);
  }

  /**
   * Takes the archive of a request that is refused: a client reads no answer while it sends, and
   * would report a broken connection instead. As much as a client may lose so with dockerd.
   */
  static void skipArchive(ApiRequest call) {
    if (call.header("Content-Type").filter("application/x-tar"::equals).isPresent()) {
      try {
        byte[] _ = call.body().readNBytes(MOST_SKIPPED);
      } catch (IOException _) {
        // it has left
      }
    }
  }
}

package dev.zlayer.daemon.docker;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Times of filters: a moment, or how long ago it was. Pure. */
final class DockerTimes {
  private static final Pattern SECONDS = Pattern.compile("([0-9]{1,18})(?:\\.([0-9]{1,9})[0-9]*)?");
  private static final Pattern PART = Pattern.compile("([0-9]+(?:\\.[0-9]+)?)(ns|us|ms|s|m|h)");

  private DockerTimes() {}

  /** {@code 10m}, {@code 1h30m}, seconds since 1970, {@code 2026-01-31T12:00:00}. */
  static Instant before(String text, Instant now) {
    Matcher seconds = SECONDS.matcher(text);
    if (seconds.matches()) {
      String nanos =
          seconds.group(2) == null ? "0" : (seconds.group(2) + "000000000").substring(0, 9);
      return Instant.ofEpochSecond(Long.parseLong(seconds.group(1)), Long.parseLong(nanos));
    }
    if (text.matches("(" + PART.pattern() + ")+")) {
      Duration ago = Duration.ZERO;
      Matcher part = PART.matcher(text);
      while (part.find()) {
        ago = ago.plus(duration(Double.parseDouble(part.group(1)), part.group(2)));
      }
      return now.minus(ago);
    }
    try {
      if (text.matches(".*(Z|[+-][0-9]{2}:[0-9]{2})")) {
        return OffsetDateTime.parse(text).toInstant();
      }
      return text.contains("T")
          ? LocalDateTime.parse(text).toInstant(ZoneOffset.UTC)
          : LocalDate.parse(text).atStartOfDay().toInstant(ZoneOffset.UTC);
    } catch (DateTimeParseException _) {
      throw DockerError.badRequest("'%s' is neither a time nor a duration".formatted(text));
    }
  }

  private static Duration duration(double count, String unit) {
    double nanos =
        count
            * switch (unit) {
              case "ns" -> 1;
              case "us" -> 1e3;
              case "ms" -> 1e6;
              case "s" -> 1e9;
              case "m" -> 60e9;
              default -> 3600e9;
            };
    return Duration.ofNanos((long) nanos);
  }
}

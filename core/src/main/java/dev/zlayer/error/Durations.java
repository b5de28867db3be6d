package dev.zlayer.error;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them: {@code 1m 30s}, {@code 250ms}, {@code 0s}. */
public final class Durations {
  private static final Pattern NUMBER = Pattern.compile("[0-9]+(\\.[0-9]+)?");
  private static final Pattern SPAN = Pattern.compile("([0-9]+)\\s*([A-Za-z]+)\\s*");
  private static final int LONGEST = 100;
  private static final Duration MONTH = Duration.ofSeconds(2_630_016);
  private static final Duration YEAR = Duration.ofHours(8_766);

  /** Nobody waits longer. */
  public static final Duration MAX = Duration.ofDays(36_525);

  private static final Map<String, Duration> UNITS =
      Map.ofEntries(
          Map.entry("ns", Duration.ofNanos(1)),
          Map.entry("nsec", Duration.ofNanos(1)),
          Map.entry("us", Duration.ofNanos(1_000)),
          Map.entry("usec", Duration.ofNanos(1_000)),
          Map.entry("ms", Duration.ofMillis(1)),
          Map.entry("msec", Duration.ofMillis(1)),
          Map.entry("s", Duration.ofSeconds(1)),
          Map.entry("sec", Duration.ofSeconds(1)),
          Map.entry("second", Duration.ofSeconds(1)),
          Map.entry("m", Duration.ofMinutes(1)),
          Map.entry("min", Duration.ofMinutes(1)),
          Map.entry("minute", Duration.ofMinutes(1)),
          Map.entry("h", Duration.ofHours(1)),
          Map.entry("hr", Duration.ofHours(1)),
          Map.entry("hour", Duration.ofHours(1)),
          Map.entry("d", Duration.ofDays(1)),
          Map.entry("day", Duration.ofDays(1)),
          Map.entry("w", Duration.ofDays(7)),
          Map.entry("week", Duration.ofDays(7)),
          Map.entry("M", MONTH),
          Map.entry("month", MONTH),
          Map.entry("y", YEAR),
          Map.entry("year", YEAR));

  private Durations() {}

  /**
   * Parses spans with units, added up ({@code 1m 30s}, {@code 2h37min}), or a number of seconds. A
   * month is a twelfth of a year, a year 365.25 days. Throws {@link AgentException.InvalidSpec},
   * also for more than a hundred years, so that sums of times do not overflow.
   */
  public static Duration parse(String text) {
    String trimmed = text.strip();
    try {
      if (trimmed.length() > LONGEST) {
        throw new ArithmeticException();
      }
      Duration parsed = NUMBER.matcher(trimmed).matches() ? seconds(trimmed) : spans(trimmed);
      if (parsed.compareTo(MAX) > 0) {
        throw new ArithmeticException();
      }
      return parsed;
    } catch (ArithmeticException _) {
      String shown = trimmed.length() > LONGEST ? trimmed.substring(0, LONGEST) + "…" : trimmed;
      throw new AgentException.InvalidSpec(
          "the duration '" + shown + "' is too long, write at most 100y");
    }
  }

  private static Duration seconds(String number) {
    BigDecimal nanos = new BigDecimal(number).movePointRight(9);
    var parts =
        nanos.toBigInteger().divideAndRemainder(java.math.BigInteger.valueOf(1_000_000_000));
    return Duration.ofSeconds(parts[0].longValueExact(), parts[1].longValueExact());
  }

  private static Duration spans(String text) {
    Matcher span = SPAN.matcher(text);
    Duration sum = Duration.ZERO;
    int end = 0;
    while (end < text.length() && span.find(end) && span.start() == end) {
      String word = span.group(2);
      Duration unit = UNITS.get(word);
      if (unit == null && word.length() > 2 && word.endsWith("s")) {
        unit = UNITS.get(word.substring(0, word.length() - 1));
      }
      if (unit == null) {
        throw new AgentException.InvalidSpec(
            "the duration '%s' has the unknown unit '%s', write ns, us, ms, s, m, h, d, w, M or y"
                .formatted(text, word));
      }
      try {
        sum = sum.plus(times(unit, Long.parseLong(span.group(1))));
      } catch (NumberFormatException _) {
        throw new ArithmeticException();
      }
      end = span.end();
    }
    if (end == 0 || end < text.length()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a duration, write one such as 30s, 1m 30s or a number of seconds"
              .formatted(text));
    }
    return sum;
  }

  /** Java does it with decimals of any length, which are slow at the first time. */
  private static Duration times(Duration unit, long count) {
    return Duration.ofSeconds(
        Math.multiplyExact(unit.getSeconds(), count), Math.multiplyExact(unit.getNano(), count));
  }

  public static String print(Duration duration) {
    if (duration.isNegative()) {
      return "-" + print(duration.negated());
    }
    var text = new StringBuilder();
    append(text, duration.toDays(), "d");
    append(text, duration.toHoursPart(), "h");
    append(text, duration.toMinutesPart(), "m");
    append(text, duration.toSecondsPart(), "s");
    append(text, duration.toMillisPart(), "ms");
    append(text, duration.toNanosPart() / 1_000 % 1_000, "us");
    append(text, duration.toNanosPart() % 1_000, "ns");
    return text.isEmpty() ? "0s" : text.toString();
  }

  private static void append(StringBuilder text, long amount, String unit) {
    if (amount != 0) {
      text.append(text.isEmpty() ? "" : " ").append(amount).append(unit);
    }
  }
}

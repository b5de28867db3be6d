package dev.zlayer.cli.print;

import java.time.Duration;
import java.time.Instant;
import java.util.Locale;

/** Sizes and ages in the unit that a person would choose. */
public final class HumanUnits {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

  private HumanUnits() {}

  /** {@code 4.2 MiB}; whole below one KiB and from a hundred of a unit on. */
  public static String bytes(long bytes) {
    double amount = bytes;
    int unit = 0;
    while (amount >= 1024 && unit < UNITS.length - 1) {
      amount /= 1024;
      unit++;
    }
    String format = unit == 0 || amount >= 99.95 ? "%.0f %s" : "%.1f %s";
    return String.format(Locale.ROOT, format, amount, UNITS[unit]);
  }

  /** {@code 3 minutes ago}. */
  public static String age(Instant then, Instant now) {
    Duration age = Duration.between(then, now);
    if (age.isNegative()) {
      return "in the future";
    }
    long seconds = age.toSeconds();
    if (seconds < 60) {
      return ago(seconds, "second");
    }
    if (seconds < 3_600) {
      return ago(age.toMinutes(), "minute");
    }
    if (seconds < 86_400) {
      return ago(age.toHours(), "hour");
    }
    if (age.toDays() < 60) {
      return ago(age.toDays(), "day");
    }
    return age.toDays() < 730 ? ago(age.toDays() / 30, "month") : ago(age.toDays() / 365, "year");
  }

  /** {@code 3m}, {@code 2h}: an age for a narrow column. */
  public static String briefAge(Instant then, Instant now) {
    long seconds = Math.max(0, Duration.between(then, now).toSeconds());
    if (seconds < 60) {
      return seconds + "s";
    }
    if (seconds < 3_600) {
      return seconds / 60 + "m";
    }
    return seconds < 2 * 86_400 ? seconds / 3_600 + "h" : seconds / 86_400 + "d";
  }

  /** {@code 1.3s}, {@code 2m 5s}: how long something took. */
  public static String took(Duration duration) {
    return duration.toSeconds() < 60
        ? String.format(Locale.ROOT, "%.1fs", duration.toMillis() / 1000.0)
        : duration.toMinutes() + "m " + duration.toSecondsPart() + "s";
  }

  private static String ago(long count, String unit) {
    return count + " " + unit + (count == 1 ? "" : "s") + " ago";
  }
}

package dev.zlayer.schedule;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * A rule for points in local time.
 *
 * <p>Five fields are read as crontab does: minute, hour, day of month, month, day of week, with 0
 * and 7 for Sunday; when both days are given, either is enough. Six fields have seconds in front and
 * seven have the year at the end; these number the days of the week from 1 (Sunday) to 7 and want
 * both days to fit. Names, lists, ranges, steps, {@code ?}, {@code L}, {@code W} and {@code #} are
 * understood, and {@code @hourly}, {@code @daily}, {@code @midnight}, {@code @weekly}, {@code
 * @monthly}, {@code @yearly}, {@code @annually} and {@code @every DURATION}.
 */
public final class CronExpression {
  private static final int LONGEST = 500;
  private static final Map<String, String> NAMES =
      Map.of(
          "@yearly", "0 0 1 1 *",
          "@annually", "0 0 1 1 *",
          "@monthly", "0 0 1 * *",
          "@weekly", "0 0 * * 0",
          "@daily", "0 0 * * *",
          "@midnight", "0 0 * * *",
          "@hourly", "0 * * * *");
  private static final String EVERY = "@every";

  private sealed interface Rule {}

  private record Calendar(CronFields fields) implements Rule {}

  private record Every(Duration interval) implements Rule {}

  private final String text;
  private final Rule rule;

  private CronExpression(String text, Rule rule) {
    this.text = text;
    this.rule = rule;
  }

  /** Throws {@link AgentException.InvalidSpec} that names the field that is wrong. */
  public static CronExpression parse(String text) {
    String trimmed = text.strip();
    if (trimmed.length() > LONGEST) {
      throw new AgentException.InvalidSpec("the schedule is longer than " + LONGEST);
    }
    return new CronExpression(
        trimmed, trimmed.startsWith("@") ? named(trimmed) : calendar(trimmed));
  }

  private static Rule named(String text) {
    String[] words = text.split("\\s+", 2);
    if (words[0].equals(EVERY) && words.length == 2) {
      Duration interval = Durations.parse(words[1]);
      if (interval.compareTo(Duration.ofSeconds(1)) < 0) {
        throw new AgentException.InvalidSpec(
            "'%s' is shorter than a second, write @every 1s or more".formatted(text));
      }
      return new Every(interval);
    }
    String fields = NAMES.get(text.toLowerCase(Locale.ROOT));
    if (fields == null) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a schedule, write @hourly, @daily, @weekly, @monthly, @yearly or @every 10m"
              .formatted(text));
    }
    return calendar(fields);
  }

  private static Rule calendar(String text) {
    String[] fields = text.split("\\s+");
    return switch (fields.length) {
      case 5 -> new Calendar(CronFields.crontab(fields));
      case 6, 7 -> new Calendar(CronFields.withSeconds(fields));
      default ->
          throw new AgentException.InvalidSpec(
              "the schedule '%s' has %d fields, write 5 (minute hour day month weekday), 6 (with"
                      .formatted(text, text.isEmpty() ? 0 : fields.length)
                  + " seconds first) or 7 (with the year last)");
    };
  }

  /**
   * The first due time strictly after {@code time}, in whole seconds; empty when there is none in
   * the next hundred years. With {@code @every} it is one interval later.
   */
  public Optional<LocalDateTime> nextAfter(LocalDateTime time) {
    return switch (rule) {
      case Calendar(var fields) ->
          fields.nextFrom(time.truncatedTo(ChronoUnit.SECONDS).plusSeconds(1));
      case Every(var interval) -> Optional.of(time.plus(interval));
    };
  }

  /** The interval of {@code @every}; such a rule counts elapsed time and ignores the calendar. */
  public Optional<Duration> interval() {
    return rule instanceof Every(var interval) ? Optional.of(interval) : Optional.empty();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CronExpression that && text.equals(that.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  /** As it was written. */
  @Override
  public String toString() {
    return text;
  }
}

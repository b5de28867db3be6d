package dev.zlayer.schedule;

import dev.zlayer.error.AgentException;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One field: its range and the names for its numbers.
 *
 * @param names the first stands for {@code min}
 */
record CronField(String label, int min, int max, List<String> names) {
  static final CronField SECOND = new CronField("second", 0, 59, List.of());
  static final CronField MINUTE = new CronField("minute", 0, 59, List.of());
  static final CronField HOUR = new CronField("hour", 0, 23, List.of());
  static final CronField DAY_OF_MONTH = new CronField("day of month", 1, 31, List.of());
  static final CronField MONTH =
      new CronField(
          "month",
          1,
          12,
          List.of(
              "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"));
  static final CronField YEAR = new CronField("year", 1970, 2199, List.of());

  private static final List<String> WEEK =
      List.of("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN");

  /** 0 to 7, both ends being Sunday. */
  static final CronField DAY_OF_WEEK = new CronField("day of week", 0, 7, WEEK);

  /** 1 (Sunday) to 7. */
  static final CronField DAY_OF_WEEK_FROM_ONE =
      new CronField("day of week", 1, 7, WEEK.subList(0, 7));

  private static final Pattern ITEM =
      Pattern.compile("(?:(\\*)|([A-Z0-9]+)(?:-([A-Z0-9]+))?)(?:/([0-9]{1,4}))?");

  BitSet parse(String text) {
    var numbers = new BitSet();
    for (String item : text.toUpperCase(Locale.ROOT).split(",", -1)) {
      addItem(item, text, numbers);
    }
    return numbers;
  }

  private void addItem(String item, String text, BitSet numbers) {
    Matcher part = ITEM.matcher(item);
    if (!part.matches()) {
      throw wrong(
          text,
          "write *, a number, a range such as %d-%d or a step such as */%d"
              .formatted(min, Math.min(max, min + 5), 2));
    }
    boolean every = part.group(1) != null;
    boolean stepped = part.group(4) != null;
    int from = every ? min : number(part.group(2), text);
    int to = every || (stepped && part.group(3) == null) ? max : from;
    if (part.group(3) != null) {
      to = number(part.group(3), text);
      // in a crontab the week may end on Sunday
      to = to == 0 && max == 7 && from > 0 ? 7 : to;
    }
    int step = stepped ? Integer.parseInt(part.group(4)) : 1;
    if (step == 0) {
      throw wrong(text, "a step must be 1 or more");
    }
    if (from > to) {
      throw wrong(text, "a range must not run backwards, write two of them");
    }
    for (int number = from; number <= to; number += step) {
      numbers.set(number);
    }
  }

  int number(String word, String text) {
    int named = names.indexOf(word);
    if (named >= 0) {
      return min + named;
    }
    int number = word.matches("[0-9]{1,4}") ? Integer.parseInt(word) : Integer.MIN_VALUE;
    if (number < min || number > max) {
      String or =
          names.isEmpty()
              ? ""
              : " or %s to %s"
                  .formatted(names.getFirst(), names.get(Math.min(6, names.size() - 1)));
      throw wrong(text, "write %d to %d%s".formatted(min, max, max == 12 ? " or JAN to DEC" : or));
    }
    return number;
  }

  AgentException.InvalidSpec wrong(String text, String advice) {
    return new AgentException.InvalidSpec(
        "the %s field '%s' of the schedule is wrong, %s".formatted(label, text, advice));
  }
}

package dev.zlayer.schedule;

import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The two day fields, which only make sense together.
 *
 * @param either one of the two is enough
 */
record CronDays(Predicate<LocalDate> ofMonth, Predicate<LocalDate> ofWeek, boolean either) {
  private static final Pattern LAST = Pattern.compile("L(?:-([0-9]{1,2}))?");
  private static final Pattern NEAREST_WEEKDAY = Pattern.compile("([0-9]{1,2})W");
  private static final Pattern LAST_OF_WEEK = Pattern.compile("([A-Z0-9]+)L");
  private static final Pattern NTH_OF_WEEK = Pattern.compile("([A-Z0-9]+)#([1-5])");

  static CronDays crontab(String month, String week) {
    boolean either = !isOpen(month) && !isOpen(week);
    return new CronDays(ofMonth(month), ofWeek(week, CronField.DAY_OF_WEEK, 0), either);
  }

  static CronDays numberedFromOne(String month, String week) {
    return new CronDays(ofMonth(month), ofWeek(week, CronField.DAY_OF_WEEK_FROM_ONE, 1), false);
  }

  boolean match(LocalDate date) {
    return either
        ? ofMonth.test(date) || ofWeek.test(date)
        : ofMonth.test(date) && ofWeek.test(date);
  }

  /** As in crontab, a field that begins with a star restricts the other one instead of adding. */
  private static boolean isOpen(String field) {
    return field.startsWith("*") || field.equals("?");
  }

  private static Predicate<LocalDate> ofMonth(String text) {
    return anyOf(
        text,
        item -> {
          Matcher last = LAST.matcher(item);
          if (last.matches()) {
            int before = last.group(1) == null ? 0 : Integer.parseInt(last.group(1));
            return date -> date.getDayOfMonth() == date.lengthOfMonth() - before;
          }
          if (item.equals("LW")) {
            return date -> date.equals(weekdayNear(date, date.lengthOfMonth()));
          }
          Matcher nearest = NEAREST_WEEKDAY.matcher(item);
          if (nearest.matches()) {
            int day = CronField.DAY_OF_MONTH.number(nearest.group(1), text);
            return date -> day <= date.lengthOfMonth() && date.equals(weekdayNear(date, day));
          }
          var numbers = CronField.DAY_OF_MONTH.parse(item);
          return date -> numbers.get(date.getDayOfMonth());
        });
  }

  private static Predicate<LocalDate> ofWeek(String text, CronField field, int sunday) {
    return anyOf(
        text,
        item -> {
          Matcher last = LAST_OF_WEEK.matcher(item);
          if (last.matches()) {
            DayOfWeek day = day(field.number(last.group(1), text) - sunday);
            return date -> date.equals(date.with(TemporalAdjusters.lastInMonth(day)));
          }
          Matcher nth = NTH_OF_WEEK.matcher(item);
          if (nth.matches()) {
            DayOfWeek day = day(field.number(nth.group(1), text) - sunday);
            int ordinal = Integer.parseInt(nth.group(2));
            return date ->
                date.getDayOfWeek() == day && (date.getDayOfMonth() - 1) / 7 + 1 == ordinal;
          }
          var numbers = field.parse(item);
          return date -> {
            int number = date.getDayOfWeek().getValue() % 7;
            return numbers.get(number + sunday) || (sunday == 0 && number == 0 && numbers.get(7));
          };
        });
  }

  private static Predicate<LocalDate> anyOf(
      String text, java.util.function.Function<String, Predicate<LocalDate>> item) {
    if (text.equals("?")) {
      return _ -> true;
    }
    List<Predicate<LocalDate>> items = new ArrayList<>();
    for (String part : text.toUpperCase(Locale.ROOT).split(",", -1)) {
      items.add(item.apply(part));
    }
    return date -> items.stream().anyMatch(one -> one.test(date));
  }

  /** Sunday is 0. */
  private static DayOfWeek day(int number) {
    return DayOfWeek.of(number % 7 == 0 ? 7 : number % 7);
  }

  /** Monday to Friday nearest to the day, without leaving its month. */
  private static LocalDate weekdayNear(LocalDate month, int day) {
    LocalDate date = month.withDayOfMonth(day);
    return switch (date.getDayOfWeek()) {
      case SATURDAY -> day == 1 ? date.plusDays(2) : date.minusDays(1);
      case SUNDAY -> day == date.lengthOfMonth() ? date.minusDays(2) : date.plusDays(1);
      default -> date;
    };
  }
}

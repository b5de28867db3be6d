package dev.zlayer.schedule;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.BitSet;
import java.util.Optional;

/** The calendar fields of an expression as sets of numbers. */
record CronFields(
    BitSet seconds,
    BitSet minutes,
    BitSet hours,
    CronDays days,
    BitSet months,
    Optional<BitSet> years) {
  private static final int HORIZON_YEARS = 100;
  private static final int LAST_YEAR = 9_999;

  static CronFields crontab(String[] fields) {
    var zero = new BitSet();
    zero.set(0);
    return new CronFields(
        zero,
        CronField.MINUTE.parse(fields[0]),
        CronField.HOUR.parse(fields[1]),
        CronDays.crontab(fields[2], fields[4]),
        CronField.MONTH.parse(fields[3]),
        Optional.empty());
  }

  static CronFields withSeconds(String[] fields) {
    return new CronFields(
        CronField.SECOND.parse(fields[0]),
        CronField.MINUTE.parse(fields[1]),
        CronField.HOUR.parse(fields[2]),
        CronDays.numberedFromOne(fields[3], fields[5]),
        CronField.MONTH.parse(fields[4]),
        fields.length == 7 && !fields[6].equals("*")
            ? Optional.of(CronField.YEAR.parse(fields[6]))
            : Optional.empty());
  }

  /** The first matching time that is not before {@code start}. */
  Optional<LocalDateTime> nextFrom(LocalDateTime start) {
    LocalDate date = start.toLocalDate();
    LocalTime from = start.toLocalTime();
    int lastYear = Math.min(LAST_YEAR, date.getYear() + HORIZON_YEARS);
    while (date.getYear() <= lastYear) {
      LocalDate here = date;
      LocalDate next;
      if (years.isPresent() && !years.get().get(date.getYear())) {
        next = LocalDate.of(date.getYear() + 1, 1, 1);
      } else if (!months.get(date.getMonthValue())) {
        next = date.withDayOfMonth(1).plusMonths(1);
      } else {
        Optional<LocalTime> time = days.match(date) ? timeFrom(from) : Optional.empty();
        if (time.isPresent()) {
          return time.map(here::atTime);
        }
        next = date.plusDays(1);
      }
      date = next;
      from = LocalTime.MIDNIGHT;
    }
    return Optional.empty();
  }

  private Optional<LocalTime> timeFrom(LocalTime from) {
    for (int h = hours.nextSetBit(from.getHour()); h >= 0; h = hours.nextSetBit(h + 1)) {
      boolean sameHour = h == from.getHour();
      int firstMinute = sameHour ? from.getMinute() : 0;
      for (int m = minutes.nextSetBit(firstMinute); m >= 0; m = minutes.nextSetBit(m + 1)) {
        int firstSecond = sameHour && m == from.getMinute() ? from.getSecond() : 0;
        int s = seconds.nextSetBit(firstSecond);
        if (s >= 0) {
          return Optional.of(LocalTime.of(h, m, s));
        }
      }
    }
    return Optional.empty();
  }
}

package dev.zlayer.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import com.cronutils.model.CronType;
import com.cronutils.model.definition.CronDefinitionBuilder;
import com.cronutils.model.time.ExecutionTime;
import com.cronutils.parser.CronParser;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.StringJoiner;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random expressions give the same times as an independent implementation. */
class CronOracleTest {
  private static final int EXPRESSIONS = 250;
  private static final int STEPS = 4;
  private static final List<String> MONTHS =
      List.of("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC");
  private static final List<String> DAYS = List.of("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT");

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14})
  void fiveFieldsAsInCrontab(long seed) {
    var random = new Random(seed);
    int compared = 0;
    for (int i = 0; i < EXPRESSIONS; i++) {
      // with both days restricted, implementations differ about steps that begin with a star
      boolean both = random.nextInt(4) == 0;
      String month =
          both ? plain(1, 31, random) : random.nextBoolean() ? "*" : field(1, 28, random);
      String week =
          both
              ? weekday(0, random)
              : month.equals("*") && random.nextBoolean() ? weekday(0, random) : "*";
      compared +=
          compare(
              CronType.UNIX,
              String.join(
                  " ", field(0, 59, random), field(0, 23, random), month, month(random), week),
              start(random));
    }
    assertThat(compared).isGreaterThan(EXPRESSIONS * STEPS / 2);
  }

  @ParameterizedTest
  @ValueSource(longs = {21, 22, 23, 24})
  void sixAndSevenFields(long seed) {
    var random = new Random(seed);
    int compared = 0;
    for (int i = 0; i < EXPRESSIONS; i++) {
      boolean byWeek = random.nextBoolean();
      String month = byWeek ? "?" : dayOfMonth(random);
      String week = byWeek ? dayOfWeek(random) : "?";
      String year = random.nextInt(3) == 0 ? " " + plain(2025, 2035, random) : "";
      compared +=
          compare(
              CronType.QUARTZ,
              String.join(
                      " ",
                      field(0, 59, random),
                      field(0, 59, random),
                      field(0, 23, random),
                      month,
                      month(random),
                      week)
                  + year,
              start(random));
    }
    assertThat(compared).isGreaterThan(EXPRESSIONS * STEPS / 2);
  }

  /** How many times were compared. */
  private static int compare(CronType type, String text, LocalDateTime start) {
    var oracle =
        ExecutionTime.forCron(
            new CronParser(CronDefinitionBuilder.instanceDefinitionFor(type)).parse(text));
    CronExpression ours = CronExpression.parse(text);
    LocalDateTime time = start;
    for (int step = 0; step < STEPS; step++) {
      Optional<LocalDateTime> expected =
          oracle.nextExecution(time.atZone(ZoneOffset.UTC)).map(ZonedDateTime::toLocalDateTime);
      Optional<LocalDateTime> actual = ours.nextAfter(time);
      if (expected.isEmpty()) {
        return step; // the other one gives up early on rare dates
      }
      assertThat(actual).as("'%s' after %s", text, time).isEqualTo(expected);
      time = expected.get();
    }
    return STEPS;
  }

  private static LocalDateTime start(Random random) {
    return LocalDateTime.of(2024, 1, 1, 0, 0).plusSeconds(random.nextLong(3L * 365 * 86_400));
  }

  private static String field(int min, int max, Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> "*";
      case 1 -> "*/" + (1 + random.nextInt(max - min));
      default -> plain(min, max, random);
    };
  }

  /** Numbers, ranges and ranges with steps, in a list. */
  private static String plain(int min, int max, Random random) {
    var list = new StringJoiner(",");
    for (int i = random.nextInt(3); i >= 0; i--) {
      int from = min + random.nextInt(max - min + 1);
      int to = from + random.nextInt(max - from + 1);
      list.add(
          switch (random.nextInt(3)) {
            case 0 -> from + "-" + to;
            case 1 -> from + "-" + to + "/" + (1 + random.nextInt(5));
            default -> Integer.toString(from);
          });
    }
    return list.toString();
  }

  private static String month(Random random) {
    if (random.nextInt(4) == 0) {
      var names = new ArrayList<>(MONTHS);
      java.util.Collections.shuffle(names, random);
      return String.join(",", names.subList(0, 1 + random.nextInt(3)));
    }
    return random.nextBoolean() ? "*" : plain(1, 12, random);
  }

  private static String weekday(int first, Random random) {
    return random.nextBoolean() ? DAYS.get(random.nextInt(7)) : plain(first, first + 6, random);
  }

  private static String dayOfMonth(Random random) {
    return switch (random.nextInt(6)) {
      case 0 -> "L";
      case 1 -> "LW";
      case 2 -> (1 + random.nextInt(28)) + "W";
      case 3 -> "L-" + (1 + random.nextInt(5));
      default -> field(1, 28, random);
    };
  }

  private static String dayOfWeek(Random random) {
    return switch (random.nextInt(5)) {
      case 0 -> (1 + random.nextInt(7)) + "L";
      case 1 -> (1 + random.nextInt(7)) + "#" + (1 + random.nextInt(4));
      default -> weekday(1, random);
    };
  }
}

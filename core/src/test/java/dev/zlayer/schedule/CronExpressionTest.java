package dev.zlayer.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.time.LocalDateTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CronExpressionTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          */5 * * * *        | 2026-03-10T12:00:00   | 2026-03-10T12:05:00
          */5 * * * *        | 2026-03-10T12:04:59.9 | 2026-03-10T12:05:00
          0 3 * * *          | 2026-03-10T03:00:00   | 2026-03-11T03:00:00
          0 0 * * 0          | 2026-03-10T00:00:00   | 2026-03-15T00:00:00
          0 0 * * 7          | 2026-03-10T00:00:00   | 2026-03-15T00:00:00
          0 0 * * SAT-SUN    | 2026-03-14T00:00:00   | 2026-03-15T00:00:00
          0 0 * * sun        | 2026-03-10T00:00:00   | 2026-03-15T00:00:00
          0 0 13 * FRI       | 2026-03-10T00:00:00   | 2026-03-13T00:00:00
          0 0 13 * FRI       | 2026-03-13T00:00:00   | 2026-03-20T00:00:00
          0 0 0 13 * FRI     | 2026-03-13T00:00:00   | 2026-11-13T00:00:00
          0 0 */2 * MON      | 2026-03-10T00:00:00   | 2026-03-23T00:00:00
          0 0 0 ? * 1        | 2026-03-10T00:00:00   | 2026-03-15T00:00:00
          0 0 29 2 *         | 2026-03-10T00:00:00   | 2028-02-29T00:00:00
          0 0 29 2 *         | 2096-03-01T00:00:00   | 2104-02-29T00:00:00
          0 0 L * *          | 2026-02-01T00:00:00   | 2026-02-28T00:00:00
          0 0 * * 5L         | 2026-03-10T00:00:00   | 2026-03-27T00:00:00
          0 0 * * MON#2      | 2026-03-10T00:00:00   | 2026-04-13T00:00:00
          0 0 0 1 1 ? 2030   | 2026-03-10T00:00:00   | 2030-01-01T00:00:00
          10/20 * * * *      | 2026-03-10T00:10:00   | 2026-03-10T00:30:00
          59 59 23 31 12 ?   | 2026-12-31T23:59:59   | 2027-12-31T23:59:59
          @hourly            | 2026-03-10T12:30:00   | 2026-03-10T13:00:00
          @daily             | 2026-03-10T12:30:00   | 2026-03-11T00:00:00
          @midnight          | 2026-03-10T12:30:00   | 2026-03-11T00:00:00
          @weekly            | 2026-03-10T12:30:00   | 2026-03-15T00:00:00
          @monthly           | 2026-03-10T12:30:00   | 2026-04-01T00:00:00
          @yearly            | 2026-03-10T12:30:00   | 2027-01-01T00:00:00
          @annually          | 2026-03-10T12:30:00   | 2027-01-01T00:00:00
          @every 10m         | 2026-03-10T12:30:05   | 2026-03-10T12:40:05
          """)
  void nextAfter(String text, LocalDateTime start, LocalDateTime expected) {
    assertThat(CronExpression.parse(text).nextAfter(start)).contains(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 1 1 ? 1999", "0 0 29 2 MON#5"})
  void neverComes(String text) {
    // the last one is a weekday or a date, so it does come
    boolean comes = text.contains("#");
    assertThat(CronExpression.parse(text).nextAfter(LocalDateTime.of(2026, 1, 1, 0, 0)).isPresent())
        .isEqualTo(comes);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          60 * * * *       | minute field '60'
          * 24 * * *       | hour field '24'
          * * 0 * *        | day of month field '0'
          * * * 13 *       | month field '13'
          * * * * 8        | day of week field '8'
          * * * FOO *      | month field 'FOO'
          0 0 0 * * 0      | day of week field '0'
          60 0 0 * * ?     | second field '60'
          0 0 0 * * ? 1900 | year field '1900'
          */0 * * * *      | step must be 1 or more
          5-1 * * * *      | must not run backwards
          1,,2 * * * *     | minute field '1,,2'
          * * * *          | has 4 fields
          * * * * * * * *  | has 8 fields
          @reboot          | not a schedule
          @every           | not a schedule
          @every 5x        | unknown unit
          @every 10ms      | shorter than a second
          a-b * * * *      | minute field
          99999999999 * * * * | minute field
          """)
  void saysWhatIsWrong(String text, String message) {
    assertThatThrownBy(() -> CronExpression.parse(text))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining(message);
  }

  @Test
  void anIntervalIsTold() {
    assertThat(CronExpression.parse("@every 1h 30m").interval()).contains(Duration.ofMinutes(90));
    assertThat(CronExpression.parse("@daily").interval()).isEmpty();
  }

  @Test
  void isItsText() {
    assertThat(CronExpression.parse(" @daily ")).isEqualTo(CronExpression.parse("@daily"));
    assertThat(CronExpression.parse("0 3 * * *")).hasToString("0 3 * * *");
  }

  @Test
  void theEndOfTimeIsNoError() {
    assertThat(CronExpression.parse("* * * * *").nextAfter(LocalDateTime.of(9999, 12, 31, 23, 59)))
        .isEmpty();
  }
}

package dev.zlayer.runtime.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogRecord;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineHeaderTest {
  private final LineHeader header = new LineHeader();

  private boolean parse(String line) {
    byte[] bytes = line.getBytes(StandardCharsets.ISO_8859_1);
    return header.parse(bytes, 0, bytes.length);
  }

  @Test
  void readsAllParts() {
    assertThat(parse("2024-02-29T23:59:58.123456789+00:00 stderr P a b")).isTrue();
    assertThat(header.time()).isEqualTo(Instant.parse("2024-02-29T23:59:58.123456789Z"));
    assertThat(header.stream()).isEqualTo(LogRecord.Stream.STDERR);
    assertThat(header.full()).isFalse();
    assertThat(header.text()).isEqualTo(45);
  }

  @Test
  void takesTheOffsetIntoAccount() {
    assertThat(parse("2024-01-01T00:30:00.000000000+01:00 stdout F ")).isTrue();
    assertThat(header.time()).isEqualTo(Instant.parse("2023-12-31T23:30:00Z"));
    assertThat(parse("2024-01-01T00:30:00.000000000-05:30 stdout F ")).isTrue();
    assertThat(header.time()).isEqualTo(Instant.parse("2024-01-01T06:00:00Z"));
  }

  @Test
  void aHoleBeforeTheLineIsPassedOver() {
    assertThat(parse("\0\0\0" + "2024-01-01T00:00:00.000000000+00:00 stdout F x")).isTrue();
    assertThat(header.text()).isEqualTo(48);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\0\0\0\0\0\0",
        "no head at all, but long enough to be taken for one by length",
        "2024-01-01T00:00:00.000000000+00:00 stdout X x",
        "2024-01-01T00:00:00.000000000+00:00 stdzzz F x",
        "2024-13-01T00:00:00.000000000+00:00 stdout F x",
        "2023-02-29T00:00:00.000000000+00:00 stdout F x",
        "2024-01-01T00:00:0a.000000000+00:00 stdout F x",
        "2024-01-01T00:00:00.000000000+00:00 stdout F"
      })
  void tellsWhatIsNotALine(String line) {
    assertThat(parse(line)).isFalse();
  }
}

package dev.zlayer.spec.value;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "123, 123",
    "123B, 123",
    "1Ki, 1024",
    "1KiB, 1024",
    "1k, 1000",
    "1kB, 1000",
    "1K, 1000",
    "512Mi, 536870912",
    "512 Mi, 536870912",
    "512M, 512000000",
    "512MB, 512000000",
    "1.5GiB, 1610612736",
    "0.1Ki, 102",
    "1Ti, 1099511627776",
    "7Ei, 8070450532247928832",
    "9223372036854775807, 9223372036854775807",
  })
  void parses(String text, long bytes) {
    assertThat(ByteSize.parse(text).bytes()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Mi",
        "-1",
        "1.",
        ".5Gi",
        "1e9",
        "1 2",
        "8Ei",
        "9223372036854775808",
        "1Zi",
        "99999999999999999999",
        "5XB",
        "512m",
        "1gb"
      })
  void refuses(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("size");
  }

  @Test
  void guessesWhatWasMeant() {
    assertThatThrownBy(() -> ByteSize.parse("512m")).hasMessageEndingWith("write 512Mi");
    assertThatThrownBy(() -> ByteSize.parse("2gb")).hasMessageEndingWith("write 2GiB");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 1000, 1024, 1536, 1L << 20, 5L << 30, Long.MAX_VALUE})
  void printsWhatItParses(long bytes) {
    assertThat(ByteSize.parse(new ByteSize(bytes).toString()).bytes()).isEqualTo(bytes);
  }
}

package dev.zlayer.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SignalTest {
  @ParameterizedTest
  @CsvSource({
    "TERM,15",
    "SIGTERM,15",
    "sigterm,15",
    " kill ,9",
    "9,9",
    "STOP,19",
    "CHLD,17",
    "CLD,17",
    "SYS,31",
    "RTMIN,34",
    "SIGRTMIN+3,37",
    "RTMAX,64",
    "RTMAX-1,63",
    "64,64"
  })
  void parsesNamesAndNumbers(String text, int number) {
    assertThat(Signal.parse(text).number()).isEqualTo(number);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "65", "-9", "NOPE", "SIG", "RTMIN+31", "RTMAX-99"})
  void refusesTheRest(String text) {
    assertThatThrownBy(() -> Signal.parse(text)).isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void everyNumberRoundTripsThroughItsName() {
    for (int number = 1; number <= 64; number++) {
      if (number < 32 || number > 33) {
        assertThat(Signal.parse(new Signal(number).signalName())).isEqualTo(new Signal(number));
      }
    }
  }
}

package dev.zlayer.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTextTest {
  @Test
  void roundTripsInTheOrderWritten() {
    String text =
        "{\"b\":[1,2.50,\"\\u00e9\\n\",null],\"a\":{\"t\":true,\"big\":12345678901234567890}}";

    assertThat(JsonText.print(JsonText.parse(text)))
        .isEqualTo(
            "{\"b\":[1,2.50,\"é\\n\",null],\"a\":{\"t\":true,\"big\":12345678901234567890}}");
  }

  @Test
  void lookupsThatMissGiveNull() {
    Json json = JsonText.parse("{\"a\":{\"n\":5}}");

    assertThat(json.at("a").at("n").integer()).contains(5L);
    assertThat(json.at("x").at("y").string()).isEmpty();
    assertThat(json.at("a").items()).isEmpty();
    assertThat(JsonText.parse("1.5").integer()).isEmpty();
    assertThat(JsonText.parse("1e999").integer()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "{", "{\"a\":1,\"a\":2}", "[1,]", "nul", "{} {}", "'a'", "01", "[NaN]"})
  void refusesWhatIsNotJsonAndSaysWhere(String text) {
    assertThatThrownBy(() -> JsonText.parse(text))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageStartingWith("not JSON");
  }

  @Test
  void depthIsBounded() {
    assertThatThrownBy(() -> JsonText.parse("[".repeat(100_000)))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void prettyIsForPeople() {
    Json json = Json.object().put("a", List.of(1, "x")).put("e", Map.of()).build();

    assertThat(JsonText.pretty(json))
        .isEqualTo(
            """
            {
              "a": [
                1,
                "x"
              ],
              "e": {}
            }
            """);
    assertThat(JsonText.parse(JsonText.pretty(json))).isEqualTo(json);
  }

  @Test
  void aNumberOutOfRangeIsRefused() {
    for (String number :
        java.util.List.of("9e9102189847", "[1e-99999999999]", "{\"a\": 1E2147483648}")) {
      assertThatThrownBy(() -> JsonText.parse(number))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("not JSON");
    }
  }
}

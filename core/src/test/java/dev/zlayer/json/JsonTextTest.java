package dev.zlayer.json;

import static java.nio.charset.StandardCharsets.UTF_8;
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
  void oneMemberIsReadWithoutWhatFollows() {
    byte[] text = "{\"a\":{\"b\":[1]},\"b\":{\"c\":[\"é\"]},\"d\": broken".getBytes(UTF_8);

    assertThat(JsonText.member(text, "b").at("c").strings()).containsExactly("é");
    assertThat(JsonText.member("{\"a\":1}".getBytes(UTF_8), "b")).isEqualTo(Json.Null.INSTANCE);
    for (String bad : List.of("", "[]", "{\"a\":", "{\"a\" 1}", "{\"a\":1,\"a\":2,\"b\":3}")) {
      assertThatThrownBy(() -> JsonText.member(bad.getBytes(UTF_8), "b"))
          .as(bad)
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageStartingWith("not JSON");
    }
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

  @Test
  void stringsAreWrittenAsTheLibraryDoes() {
    for (int c = 0; c < 0x3000; c++) {
      String text = "a" + (char) c + "/";
      var written = new java.io.StringWriter();
      try (var out =
          new tools.jackson.core.json.JsonFactory()
              .createGenerator(tools.jackson.core.ObjectWriteContext.empty(), written)) {
        out.writeString(text);
      }
      assertThat(JsonText.print(new Json.Str(text))).isEqualTo(written.toString());
    }
  }

  @Test
  void aNumberIsTheSameHoweverItWasMade() {
    assertThat(Json.of(7)).isEqualTo(Json.of(7L)).isEqualTo(JsonText.parse("7"));
    assertThat(new Json.Num(new java.math.BigDecimal("7"))).isEqualTo(Json.of((short) 7));
    assertThat(JsonText.print(Json.of(1.5))).isEqualTo("1.5");
    assertThat(JsonText.print(JsonText.parse("[1.50,1e3,-0,123456789012345678901234567890]")))
        .isEqualTo("[1.50,1E+3,0,123456789012345678901234567890]");
    assertThat(JsonText.parse("9223372036854775807").integer()).contains(Long.MAX_VALUE);
    assertThat(JsonText.parse("9223372036854775808").integer()).isEmpty();
    assertThat(JsonText.parse("3.0").integer()).contains(3L);
  }
}

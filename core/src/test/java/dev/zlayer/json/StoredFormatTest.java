package dev.zlayer.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StoredFormatTest {
  private static final UnaryOperator<Json.Obj> RENAMED =
      old -> Json.object().put("version", 1).put("new", old.at("old")).build();
  private static final UnaryOperator<Json.Obj> DOUBLED =
      old ->
          Json.object()
              .put("version", 2)
              .put("new", old.at("new").integer().orElseThrow() * 2)
              .build();
  private static final StoredFormat FORMAT = StoredFormat.of("the thing", RENAMED, DOUBLED);

  private static Json.Obj upgrade(String text) {
    return FORMAT.upgrade(JsonText.parse(text), "/some/file");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"version\":1,\"old\":4}",
        "{\"version\":2,\"new\":4}",
        "{\"version\":3,\"new\":8}"
      })
  void everyVersionBecomesTheCurrentOne(String stored) {
    assertThat(upgrade(stored)).isEqualTo(Json.object().put("version", 3).put("new", 8).build());
  }

  @Test
  void aLaterVersionIsRefusedWithItsPlaceAndVersion() {
    assertThatThrownBy(() -> upgrade("{\"version\":4,\"new\":8}"))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessage(
            "the thing in /some/file has version 4 and this program reads versions up to 3: use the"
                + " version of zlayer that wrote it, or a later one");
    assertThat(FORMAT.later(JsonText.parse("{\"version\":4}"))).isTrue();
    assertThat(FORMAT.later(JsonText.parse("{\"version\":3}"))).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "[]", "7", "{\"version\":0}", "{\"version\":\"x\"}"})
  void whatHasNoVersionIsDamaged(String stored) {
    assertThatThrownBy(() -> upgrade(stored))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageStartingWith("the thing in /some/file ");
  }

  @Test
  void whatWasWrittenWithoutAVersionAtFirstIsOfTheFirst() {
    var format = StoredFormat.unmarked("the thing", RENAMED);
    assertThat(format.upgrade(JsonText.parse("{\"old\":4}"), "x"))
        .isEqualTo(Json.object().put("version", 2).put("new", 4).build());
  }

  sealed interface Way permits OnFoot {}

  @StoredName("Walk")
  record OnFoot(int miles) implements Way {}

  record Trip(Way way) {}

  @Test
  void aVariantHasItsStoredNameWhateverItsClassIsCalled() {
    Json json = RecordJson.write(new Trip(new OnFoot(3)));
    assertThat(JsonText.print(json)).isEqualTo("{\"way\":{\"is\":\"Walk\",\"miles\":3}}");
    assertThat(RecordJson.read(json, Trip.class)).isEqualTo(new Trip(new OnFoot(3)));
  }
}

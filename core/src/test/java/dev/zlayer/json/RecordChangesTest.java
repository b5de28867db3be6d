package dev.zlayer.json;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class RecordChangesTest {
  record Part(int a, Optional<String> b) {}

  record Whole(
      String name, Part part, List<String> list, Optional<Part> maybe, OptionalLong number) {}

  private static final Whole BEFORE =
      new Whole(
          "n",
          new Part(1, Optional.empty()),
          List.of("x"),
          Optional.of(new Part(2, Optional.of("y"))),
          OptionalLong.of(3));

  @Test
  void equalRecordsHaveNoChanges() {
    var same =
        new Whole(
            "n",
            new Part(1, Optional.empty()),
            List.of("x"),
            Optional.of(new Part(2, Optional.of("y"))),
            OptionalLong.of(3));
    assertThat(RecordChanges.between(BEFORE, same).members()).isEmpty();
  }

  @Test
  void onlyMembersThatDifferAreWritten() {
    var after = new Whole("m", BEFORE.part(), List.of(), BEFORE.maybe(), BEFORE.number());
    assertThat(JsonText.print(RecordChanges.between(BEFORE, after)))
        .isEqualTo("{\"name\":\"m\",\"list\":[]}");
    assertThat(laidOver(BEFORE, after)).isEqualTo(after);
  }

  @Test
  void aMemberThatBecameAbsentIsWrittenAsNull() {
    var after =
        new Whole("n", BEFORE.part(), BEFORE.list(), Optional.empty(), OptionalLong.empty());
    assertThat(JsonText.print(RecordChanges.between(BEFORE, after)))
        .isEqualTo("{\"maybe\":null,\"number\":null}");
    assertThat(laidOver(BEFORE, after)).isEqualTo(after);
  }

  @Test
  void aMemberOfAMemberTakesTheWholeMemberAlong() {
    var after =
        new Whole(
            "n",
            new Part(1, Optional.of("z")),
            BEFORE.list(),
            Optional.of(new Part(2, Optional.empty())),
            BEFORE.number());
    assertThat(JsonText.print(RecordChanges.between(BEFORE, after)))
        .isEqualTo("{\"part\":{\"a\":1,\"b\":\"z\"},\"maybe\":{\"a\":2}}");
    assertThat(laidOver(BEFORE, after)).isEqualTo(after);
    assertThat(laidOver(after, BEFORE)).isEqualTo(BEFORE);
  }

  private static Whole laidOver(Whole before, Whole after) {
    Json.Obj whole = (Json.Obj) RecordJson.write(before);
    Json.Obj changes = RecordChanges.between(before, after);
    return RecordJson.read(RecordChanges.over(whole, changes), Whole.class);
  }
}

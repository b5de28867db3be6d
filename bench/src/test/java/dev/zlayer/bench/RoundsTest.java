package dev.zlayer.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RoundsTest {
  @Test
  void contestantsTakeTurnsAndWarmRoundsDoNotCount() throws Exception {
    var turns = new ArrayList<String>();

    List<Report.Row> rows =
        Rounds.run(List.of(contestant("a", turns, 1), contestant("b", turns, 2)), 1, 2);

    assertThat(turns).containsExactly("b", "a", "a", "b", "b", "a");
    assertThat(rows).extracting(Report.Row::contestant).containsExactly("a", "b");
    assertThat(rows.getFirst().samples().values()).containsExactly(1.0, 1.0);
    assertThat(rows.getLast().samples().values()).containsExactly(2.0, 2.0);
  }

  @Test
  void whoFailsThreeTimesDropsOutWithItsError() throws Exception {
    var tries = new ArrayList<String>();
    var broken =
        new Rounds.Contestant(
            "broken",
            Rounds.Step.NOTHING,
            () -> {
              tries.add("try");
              throw new IllegalStateException("no disk");
            },
            Rounds.Step.NOTHING);

    Report.Row row = Rounds.run(List.of(broken), 0, 5).getFirst();

    assertThat(tries).hasSize(3);
    assertThat(row.samples().isEmpty()).isTrue();
    assertThat(row.note()).contains("no disk");
  }

  private static Rounds.Contestant contestant(String name, List<String> turns, double value) {
    return new Rounds.Contestant(
        name,
        Rounds.Step.NOTHING,
        () -> {
          turns.add(name);
          return value;
        },
        Rounds.Step.NOTHING);
  }
}

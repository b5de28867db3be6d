package dev.zlayer.daemon.rest.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.rest.cluster.EventMerge.Part;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EventMergeTest {
  /** An event of that number at that second. */
  private record At(long number, long second) {}

  private static Part part(String id, long newest, At... events) {
    long next = events.length == 0 ? newest : events[events.length - 1].number();
    return new Part(
        id,
        id,
        List.of(events).stream()
            .<Json>map(
                one ->
                    Json.object()
                        .put("seq", one.number())
                        .put("time", Instant.ofEpochSecond(one.second()))
                        .build())
            .toList(),
        next,
        newest,
        false,
        1);
  }

  private static List<String> names(EventMerge merged) {
    return merged.events().stream()
        .map(one -> one.source() + one.event().at("seq").integer().orElseThrow())
        .toList();
  }

  @Test
  void whatANodeSaysThatIsNoEventHidesNoneOfTheOthers() {
    Json wrong =
        Json.object()
            .put(
                "events",
                new Json.Arr(
                    List.of(
                        Json.object().put("seq", 1).put("time", "yesterday").build(),
                        Json.object().put("time", Instant.EPOCH).build(),
                        Json.object().put("seq", -4).build())))
            .put("next", -4)
            .put("newest", 1)
            .build();
    var merged =
        EventMerge.of(
            List.of(Part.of("w", "w", wrong), part("a", 1, new At(1, 10))),
            100,
            OptionalInt.empty());

    assertThat(names(merged)).containsExactly("w1", "a1");
    assertThat(merged.complete()).isTrue();
    assertThat(EventPositions.parse(EventPositions.NONE.with(merged.next()).text()).numbers())
        .isEqualTo(merged.next());
  }

  @Test
  void aNodeThatOnlySaysThatThereIsMoreKeepsNobodyWaiting() {
    Json nothing = Json.object().put("next", 3).put("newest", 9).build();
    var merged =
        EventMerge.of(
            List.of(Part.of("w", "w", nothing), part("a", 1, new At(1, 10))),
            100,
            OptionalInt.empty());

    assertThat(names(merged)).containsExactly("a1");
    assertThat(merged.next()).containsEntry("w", 3L);
    assertThat(merged.complete()).isTrue();
  }

  @Test
  void theyAreInTheOrderOfTheirTimesAndKeepTheirOwn() {
    var merged =
        EventMerge.of(
            List.of(
                part("a", 3, new At(1, 10), new At(2, 40), new At(3, 5)),
                part("b", 2, new At(1, 20), new At(2, 30))),
            100,
            OptionalInt.empty());

    assertThat(names(merged)).containsExactly("a1", "b1", "b2", "a2", "a3");
    assertThat(merged.next()).isEqualTo(Map.of("a", 3L, "b", 2L));
    assertThat(merged.complete()).isTrue();
  }

  @Test
  void itStopsWhereASourceMayHaveEarlierOnes() {
    var merged =
        EventMerge.of(
            List.of(part("a", 9, new At(1, 10)), part("b", 2, new At(1, 5), new At(2, 30))),
            100,
            OptionalInt.empty());

    assertThat(names(merged)).containsExactly("b1", "a1");
    assertThat(merged.next()).isEqualTo(Map.of("a", 1L, "b", 1L));
    assertThat(merged.complete()).isFalse();
  }

  @Test
  void onlyTheNewestAreGiven() {
    List<Part> parts =
        List.of(
            part("a", 12, new At(11, 10), new At(12, 40)),
            part("b", 22, new At(21, 20), new At(22, 30)));

    assertThat(names(EventMerge.of(parts, 100, OptionalInt.of(2)))).containsExactly("b22", "a12");
    var none = EventMerge.of(parts, 100, OptionalInt.of(0));
    assertThat(none.events()).isEmpty();
    assertThat(none.next()).isEqualTo(Map.of("a", 12L, "b", 22L));
  }

  /** Whatever the pages and limits are, whoever continues gets each once. */
  @Test
  void everyEventIsGivenOnceOverManyPages() {
    long seed = System.nanoTime();
    var random = new Random(seed);
    for (int run = 0; run < 300; run++) {
      int sources = 1 + random.nextInt(4);
      List<List<At>> logs = new ArrayList<>();
      int total = 0;
      for (int i = 0; i < sources; i++) {
        int count = random.nextInt(20);
        total += count;
        logs.add(
            IntStream.rangeClosed(1, count)
                .mapToObj(number -> new At(number, random.nextInt(50)))
                .toList());
      }
      var positions = new long[sources];
      var seen = new HashSet<String>();
      int pages = 0;
      while (seen.size() < total) {
        assertThat(pages++).as("seed %d", seed).isLessThan(2 * total + 2);
        var parts = new ArrayList<Part>();
        for (int i = 0; i < sources; i++) {
          List<At> log = logs.get(i);
          int from = (int) positions[i];
          int to = Math.min(log.size(), from + 1 + random.nextInt(5));
          parts.add(part("s" + i, log.size(), log.subList(from, to).toArray(At[]::new)));
        }
        var merged = EventMerge.of(parts, 1 + random.nextInt(9), OptionalInt.empty());
        for (String name : names(merged)) {
          assertThat(seen.add(name)).as("seed %d: %s once", seed, name).isTrue();
        }
        for (int i = 0; i < sources; i++) {
          positions[i] = merged.next().get("s" + i);
        }
      }
    }
  }

  @Test
  void aPlaceIsWrittenAndReadAgain() {
    var positions = EventPositions.NONE.with("b2", 7).with(Map.of("cluster", 12L));

    assertThat(positions.text()).isEqualTo("b2:7,cluster:12");
    assertThat(EventPositions.parse(positions.text())).isEqualTo(positions);
    assertThat(EventPositions.parse(EventPositions.NONE.text()).find("b2")).isEmpty();
    assertThat(EventPositions.single("42")).isTrue();
    assertThat(EventPositions.single(positions.text())).isFalse();
    for (String wrong : List.of("", "x", "a:", "a:1,", "A B:1", "a:99999999999999999999")) {
      assertThatThrownBy(() -> EventPositions.parse(wrong))
          .as(wrong)
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  @Test
  void aPlaceInTheEventsOfManyNodesIsRead() {
    String many =
        IntStream.range(0, 5000).mapToObj(i -> "n" + i + ":1").collect(Collectors.joining(","));
    assertThat(EventPositions.parse(many).numbers()).hasSize(5000);
    assertThatThrownBy(() -> EventPositions.parse(many + ",x"))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }
}

package dev.zlayer.daemon.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ViewTextTest {
  enum Kind {
    TWO_WORDS
  }

  sealed interface Shape {}

  record Circle(int radiusMm) implements Shape {}

  record Point() implements Shape {}

  record Nothing(Optional<String> some) {}

  record All(
      @Nullable String absent,
      String text,
      int number,
      long large,
      double real,
      boolean flag,
      Kind kind,
      ImageRef image,
      InetAddress address,
      Duration duration,
      Instant time,
      Optional<String> some,
      Optional<String> none,
      Optional<Optional<String>> deep,
      OptionalInt noInt,
      OptionalLong aLong,
      OptionalDouble aDouble,
      OptionalDouble noDouble,
      Json tree,
      Json noTree,
      List<Shape> shapes,
      List<@Nullable String> holes,
      List<String> empty,
      Map<String, Object> map) {}

  static Stream<Object> values() throws Exception {
    return Stream.of(
        List.of(),
        List.of(new Nothing(Optional.empty()), new Nothing(Optional.of("x"))),
        "line\nend \"quoted\" \\ \u0001 \u00e4 \ud83d\ude00",
        new All(
            null,
            "a\"b",
            -1,
            Long.MIN_VALUE,
            0.25,
            true,
            Kind.TWO_WORDS,
            ImageRef.parse("alpine:3"),
            InetAddress.getByName("::1"),
            Duration.ofMillis(1500),
            Instant.parse("2026-01-02T03:04:05.678901234Z"),
            Optional.of("here"),
            Optional.empty(),
            Optional.of(Optional.empty()),
            OptionalInt.empty(),
            OptionalLong.of(7),
            OptionalDouble.of(1e-9),
            OptionalDouble.empty(),
            Json.object().put("a", List.of(1, 2)).build(),
            Json.Null.INSTANCE,
            List.of(new Circle(3), new Point()),
            Arrays.asList("x", null),
            List.of(),
            Map.of("a \"b", Optional.empty())));
  }

  @ParameterizedTest
  @MethodSource("values")
  void isTheTextOfTheTree(Object value) {
    assertThat(ViewText.print(value)).isEqualTo(JsonText.print(ViewJson.of(value)));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 5_000})
  void longListsAreWhole(int length) {
    List<Circle> views =
        Stream.iterate(new Circle(0), circle -> new Circle(circle.radiusMm() + 1))
            .limit(length)
            .toList();

    assertThat(new String(ViewText.bytes(views), StandardCharsets.UTF_8))
        .isEqualTo(JsonText.print(ViewJson.of(views)));
  }

  @Test
  void charactersOutsideOfAsciiAreKept() {
    List<Nothing> views =
        Collections.nCopies(9_000, new Nothing(Optional.of("\u00e4 \ud83d\ude00")));

    assertThat(new String(ViewText.bytes(views), StandardCharsets.UTF_8))
        .isEqualTo(JsonText.print(ViewJson.of(views)));
  }
}

package dev.zlayer.cli.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is read here is what the other parser reads, and refused as there. */
class AnswerJsonTest {
  private static final String LETTERS = "ab\"\\/\n\t\u0001\u001f\u007fé\u20ac \b\f\r";

  private static final List<String> CORNERS =
      List.of(
          "{}",
          "[]",
          " { \"a\" : [ 1 , -2 , 0 ] }\n",
          "\"\\u00e9\\n\\t\\\"\\\\\\/\\b\\f\\r\\ud83d\\ude00\"",
          "\"é 😀\"",
          "1.5",
          "1e3",
          "-0",
          "00",
          "-",
          "9223372036854775807",
          "123456789012345678901234567890",
          "{\"a\":1,\"a\":2}",
          "{\"a\":null,\"a\":2}",
          "[1,]",
          "{\"a\":}",
          "[1 2]",
          "tru",
          "nullx",
          "\"\\u+123\"",
          "\"\\x\"",
          "\"tab\there\"",
          "\"open",
          "{\"a\"",
          "",
          "  ",
          "1 2",
          "[".repeat(62) + "]".repeat(62),
          "[".repeat(70) + "]".repeat(70));

  @Test
  void cornersAreReadAsByTheOther() {
    for (String text : CORNERS) {
      assertThat(read(text)).as(text).isEqualTo(other(text));
    }
  }

  @Test
  void anyTreeAndAnyDamageIsReadAsByTheOther() {
    var random = new Random(19);
    for (int i = 0; i < 4000; i++) {
      Json tree = tree(random, 0);
      String text = i % 2 == 0 ? JsonText.print(tree) : JsonText.pretty(tree);
      assertThat(AnswerJson.parse(text)).isEqualTo(tree);
      var damaged = new StringBuilder(text);
      damaged.setCharAt(random.nextInt(text.length()), (char) (random.nextInt(96) + 31));
      assertThat(read(damaged.toString())).as(damaged.toString()).isEqualTo(other(damaged + ""));
    }
  }

  private static Json tree(Random random, int depth) {
    return switch (random.nextInt(depth > 4 ? 5 : 8)) {
      case 0 -> Json.Null.INSTANCE;
      case 1 -> new Json.Bool(random.nextBoolean());
      case 2 -> Json.of(random.nextLong() >> random.nextInt(64));
      case 3 -> new Json.Num(new BigDecimal(random.nextInt(1000)).movePointLeft(2));
      case 4 -> new Json.Str(text(random));
      case 5 -> {
        var items = new ArrayList<Json>();
        for (int i = random.nextInt(4); i > 0; i--) {
          items.add(tree(random, depth + 1));
        }
        yield new Json.Arr(items);
      }
      default -> {
        Json.Builder object = Json.object();
        for (int i = random.nextInt(4); i > 0; i--) {
          object.put(text(random), tree(random, depth + 1));
        }
        yield object.build();
      }
    };
  }

  private static String text(Random random) {
    var text = new StringBuilder();
    for (int i = random.nextInt(8); i > 0; i--) {
      text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
    }
    return text.toString();
  }

  private static Optional<Json> read(String text) {
    try {
      return Optional.of(AnswerJson.parse(text));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }

  private static Optional<Json> other(String text) {
    try {
      return Optional.of(JsonText.parse(text));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }
}

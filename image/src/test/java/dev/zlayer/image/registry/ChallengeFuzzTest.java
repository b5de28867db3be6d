package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.fuzz.Fuzzer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What registries ask to be authenticated with, damaged: something can be answered, or nothing. */
class ChallengeFuzzTest {
  private static final List<String> WORDS =
      List.of(
          "Bearer ",
          "Basic ",
          "realm=",
          "service=",
          "scope=",
          "\"",
          "\\",
          ",",
          "=",
          " ",
          "\t",
          "https://",
          "\u0000",
          "\u00e9",
          "\"\"",
          "repository:a/b:pull,push");

  @Test
  void challengesAreReadOrPassedOver() {
    new Fuzzer(
            "fuzz/challenge",
            10_000,
            List.of(
                Fuzzer.utf8(
                    "Bearer realm=\"https://auth.example/token\",service=\"registry.example\","
                        + "scope=\"repository:team/app:pull\""),
                Fuzzer.utf8("Basic realm=\"a \\\"quoted\\\" realm\", charset=UTF-8"),
                Fuzzer.utf8("Negotiate, Digest realm=x, nonce = y , Bearer realm=z")),
            WORDS,
            _ -> false,
            input -> {
              String header = new String(input, StandardCharsets.ISO_8859_1);
              for (Challenge challenge : Challenge.parse(header)) {
                assertThat(challenge.scheme()).isNotEmpty().isLowerCase();
              }
              assertThat(Challenge.best(List.of(header, header)))
                  .isEqualTo(Challenge.best(List.of(header)));
            })
        .run();
  }
}

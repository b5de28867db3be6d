package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChallengeTest {
  @Test
  void readsBearerWithCommasInside() {
    var challenge =
        Challenge.best(
                List.of(
                    "Bearer realm=\"https://auth.example/token\", service=\"reg\","
                        + "scope=\"repository:a/b:pull,push\", error=\"x\\\"y\""))
            .orElseThrow();
    assertThat(challenge.scheme()).isEqualTo("bearer");
    assertThat(challenge.parameters())
        .isEqualTo(
            Map.of(
                "realm", "https://auth.example/token",
                "service", "reg",
                "scope", "repository:a/b:pull,push",
                "error", "x\"y"));
  }

  @Test
  void prefersBearerOverBasicInAnyHeader() {
    assertThat(Challenge.parse("Basic realm=\"a\", Bearer realm=\"b\",service=c"))
        .containsExactly(
            new Challenge("basic", Map.of("realm", "a")),
            new Challenge("bearer", Map.of("realm", "b", "service", "c")));
    assertThat(
            Challenge.best(List.of("Basic realm=x", "Bearer realm=\"y\"")).orElseThrow().scheme())
        .isEqualTo("bearer");
    assertThat(Challenge.best(List.of("Negotiate, Basic"))).isPresent();
    assertThat(Challenge.best(List.of("Bearer service=\"no realm\""))).isEmpty();
    assertThat(Challenge.best(List.of("Negotiate abc==", ""))).isEmpty();
  }

  @Test
  void anyTextEndsWithoutAnException() {
    long seed = 20260101;
    var random = new Random(seed);
    String alphabet = "Beareasic =\",\\ \trealm\"";
    for (int i = 0; i < 20_000; i++) {
      var text = new StringBuilder();
      for (int j = random.nextInt(40); j > 0; j--) {
        text.append(alphabet.charAt(random.nextInt(alphabet.length())));
      }
      assertThat(Challenge.parse(text.toString())).as("seed %d: %s", seed, text).isNotNull();
    }
  }
}

package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RedactionTest {
  @Test
  void hidesEveryOccurrenceAndTheLongerValueFirst() {
    Redaction redaction = Redaction.NOTHING.with(List.of("pass", "password1"));

    assertThat(redaction.text("password1 and pass and password1"))
        .isEqualTo("[secret] and [secret] and [secret]");
  }

  @Test
  void hidesFieldsOfObjectsAndLongLines() {
    Redaction redaction =
        Redaction.NOTHING.with(
            List.of("{\"user\":\"admin1\",\"n\":1}", "-----BEGIN\nMIIBVgIBADANBgkq\nab\n"));

    assertThat(redaction.text("login admin1")).isEqualTo("login [secret]");
    assertThat(redaction.text("line MIIBVgIBADANBgkq")).isEqualTo("line [secret]");
    assertThat(redaction.text("ab")).isEqualTo("ab");
  }

  @Test
  void aTinyValueIsNotLookedFor() {
    assertThat(Redaction.NOTHING.with(List.of("1")).text("10.1.1.1")).isEqualTo("10.1.1.1");
  }

  @Test
  void hidesInTreesAndMaps() {
    Redaction redaction = Redaction.NOTHING.with(List.of("hunter22"));
    Json tree = Json.of(Map.of("env", List.of("PASSWORD=hunter22"), "n", 3));

    assertThat(redaction.json(tree))
        .isEqualTo(Json.of(Map.of("env", List.of("PASSWORD=[secret]"), "n", 3)));
    assertThat(redaction.map(Map.of("A", "xhunter22"))).isEqualTo(Map.of("A", "x[secret]"));
  }
}

package dev.zlayer.cli.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QueryTest {
  @Test
  void aNameIsOneSegment() {
    assertThat(Query.segment("shop:api:1@7")).isEqualTo("shop:api:1%407");
    assertThat(Query.segment("*.a b?c#d;e")).isEqualTo("*.a%20b%3Fc%23d%3Be");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "../etc", "shop/db", "a\\b", "50%", "a%2Fb", "a\nb"})
  void whatNoServerTakesForANameIsRefusedWithWhatToWrite(String typed) {
    assertThatThrownBy(() -> Query.segment(typed))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageStartingWith(
            "'" + typed + "' is not a name; write one without '/', '\\' and '%'");
  }
}

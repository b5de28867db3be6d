package dev.zlayer.cli.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TargetTest {
  @Test
  void slashesBecomeColonsInAPath() {
    assertThat(Target.parse("shop/web/1@3").path()).isEqualTo("/containers/shop:web:1%403");
    assertThat(Target.parse("web-1f2e").path()).isEqualTo("/containers/web-1f2e");
  }

  @Test
  void twoPartsAreAService() {
    assertThat(Target.parse("shop/web").service()).isTrue();
    assertThat(Target.parse("shop/web").servicePath()).isEqualTo("/deployments/shop/services/web");
    assertThat(Target.parse("shop/web/1").service()).isFalse();
    assertThat(Target.parse("shop").service()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/web", "shop/", "a b", "shop//1", "a/b/c/d/e", "web:1"})
  void whatNamesNothingIsRefused(String text) {
    assertThatThrownBy(() -> Target.parse(text))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("deployment/service");
  }

  @Test
  void queriesAreEncoded() {
    assertThat(Query.of("path", "/a b").flag("all", true).flag("not", false).toString())
        .isEqualTo("?path=%2Fa%20b&all=true");
    assertThat(Query.NONE.all("c", java.util.List.of("sh", "-c", "a&b=c")).toString())
        .isEqualTo("?c=sh&c=-c&c=a%26b%3Dc");
    assertThat(Query.NONE.toString()).isEmpty();
  }
}

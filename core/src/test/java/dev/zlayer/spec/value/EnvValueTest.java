package dev.zlayer.spec.value;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.value.EnvValue.HostVariable;
import dev.zlayer.spec.value.EnvValue.Literal;
import dev.zlayer.spec.value.EnvValue.Secret;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EnvValueTest {
  private static final SecretRef.Scope DEPLOYMENT = new SecretRef.OfDeployment();

  private static Secret secret(SecretRef.Scope scope, String name) {
    return new Secret(new SecretRef(scope, name, Optional.empty()));
  }

  @Test
  void wholeValues() {
    assertThat(EnvValue.parse("$E:HOME").parts()).containsExactly(new HostVariable("HOME"));
    assertThat(EnvValue.parse("$S:db").parts()).containsExactly(secret(DEPLOYMENT, "db"));
    assertThat(EnvValue.parse("$S:db/password").parts())
        .containsExactly(new Secret(new SecretRef(DEPLOYMENT, "db", Optional.of("password"))));
    assertThat(EnvValue.parse("$S:@api/key").parts())
        .containsExactly(secret(new SecretRef.OfService("api"), "key"));
    assertThat(EnvValue.parse("$S::prod/key").parts())
        .containsExactly(secret(new SecretRef.OfEnvironment(Optional.empty(), "prod"), "key"));
    assertThat(EnvValue.parse("$S:acme:prod/key").parts())
        .containsExactly(secret(new SecretRef.OfEnvironment(Optional.of("acme"), "prod"), "key"));
  }

  @Test
  void insideText() {
    assertThat(EnvValue.parse("a${E:USER}:${S:pw}@b").parts())
        .containsExactly(
            new Literal("a"),
            new HostVariable("USER"),
            new Literal(":"),
            secret(DEPLOYMENT, "pw"),
            new Literal("@b"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "plain", "$", "$$", "$HOME", "${HOME}", "a $E:X", "100$", "${X:-y}"})
  void otherDollarsAreJustDollars(String text) {
    assertThat(EnvValue.parse(text).literal()).contains(text);
  }

  @Test
  void oneMoreDollarTakesTheMeaningAway() {
    assertThat(EnvValue.parse("$$E:HOME").literal()).contains("$E:HOME");
    assertThat(EnvValue.parse("$$S:x").literal()).contains("$S:x");
    assertThat(EnvValue.parse("a $${E:HOME} b").literal()).contains("a ${E:HOME} b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "$E:",
        "$E:1X",
        "$E:A B",
        "$S:",
        "$S:/x",
        "$S:a/",
        "$S:a/b/c",
        "$S:@/a",
        "$S:@svc",
        "$S:a:b:c/d",
        "$S::/a",
        "x ${E:} y",
        "x ${S:a",
        "$secret://env/X",
      })
  void refuses(String text) {
    assertThatThrownBy(() -> EnvValue.parse(text)).isInstanceOf(AgentException.InvalidSpec.class);
  }
}

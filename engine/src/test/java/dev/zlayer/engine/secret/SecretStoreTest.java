package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.value.SecretRef;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SecretStoreTest {
  private static final SecretKey KEY = SecretKey.of("ab".repeat(32), "the test's key");
  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final SecretRef.Scope OWN = new SecretRef.OfDeployment();

  private final StateStore state = new MemoryStateStore();
  private final SecretStore secrets = SecretStore.open(state, KEY, () -> NOW);

  @Test
  void aDeploymentSeesItsOwnSecretBeforeTheGlobalOne() {
    secrets.set(SecretName.global("password"), "of all");
    secrets.set(SecretName.of("shop", "password"), "of shop");

    assertThat(secrets.find("shop", OWN, "password")).contains("of shop");
    assertThat(secrets.find("blog", OWN, "password")).contains("of all");
    assertThat(secrets.find("blog", OWN, "other")).isEmpty();
  }

  @Test
  void theSecretsOfAServiceAreFoundThereAlone() {
    secrets.set(SecretName.of("shop", "db", "password"), "of the database");

    assertThat(secrets.find("shop", new SecretRef.OfService("db"), "password"))
        .contains("of the database");
    assertThat(secrets.find("shop", OWN, "password")).isEmpty();
    assertThat(secrets.find("blog", new SecretRef.OfService("db"), "password")).isEmpty();
  }

  @Test
  void secretsSurviveAndTheirValuesAreNowhereInTheStore() {
    secrets.set(SecretName.of("shop", "password"), "correct horse");

    for (StateStore.Entry entry : state.list(SecretStore.KIND)) {
      assertThat(new String(entry.value(), StandardCharsets.UTF_8)).doesNotContain("horse");
    }
    var again = SecretStore.open(state, KEY, () -> NOW);
    assertThat(again.find("shop", OWN, "password")).contains("correct horse");
    assertThat(again.redaction().text("it is correct horse!")).isEqualTo("it is [secret]!");
  }

  @Test
  void listingTellsEverythingButTheValue() {
    SecretInfo first = secrets.set(SecretName.of("shop", "b"), "one");
    SecretInfo second = secrets.set(SecretName.of("shop", "b"), "two");
    secrets.set(SecretName.global("a"), "three");

    assertThat(second.revision()).isEqualTo(2);
    assertThat(second.fingerprint()).isNotEqualTo(first.fingerprint());
    assertThat(secrets.list())
        .extracting(info -> info.name().toString())
        .containsExactly("a", "shop/b");
    assertThat(secrets.list()).contains(second);
    assertThat(secrets.list().toString()).doesNotContain("two");
  }

  @Test
  void settingTheSameValueAgainRollsNobody() {
    SecretInfo first = secrets.set(SecretName.of("shop", "b"), "one");

    assertThat(secrets.set(SecretName.of("shop", "b"), "one")).isEqualTo(first);
    assertThat(events()).containsExactly("secret.set");
  }

  @Test
  void removingTakesItAwayAndSaysSo() {
    SecretName name = SecretName.of("shop", "b");
    secrets.set(name, "valuable");
    secrets.remove(name);

    assertThat(secrets.find("shop", OWN, "b")).isEmpty();
    assertThat(events()).containsExactly("secret.set", "secret.removed");
    assertThat(secrets.redaction().text("valuable")).isEqualTo("[secret]");
    assertThatThrownBy(() -> secrets.remove(name))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining("shop/b");
  }

  @Test
  void anotherKeyIsToldWhenTheStoreIsOpened() {
    secrets.set(SecretName.global("a"), "three");
    SecretKey other = SecretKey.of("cd".repeat(32), "/etc/other.key");

    assertThatThrownBy(() -> SecretStore.open(state, other, () -> NOW))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("/etc/other.key");
  }

  @Test
  void aChangedEntryIsNamedAndNotUsed() {
    secrets.set(SecretName.of("shop", "a"), "one");
    byte[] record = state.find(SecretStore.KIND, "shop//a").orElseThrow();
    String text = new String(record, StandardCharsets.UTF_8);
    int sealed = text.indexOf("\"sealed\"") + 14;
    char changed = text.charAt(sealed) == 'A' ? 'B' : 'A';
    put("shop//a", text.substring(0, sealed) + changed + text.substring(sealed + 1));

    assertThatThrownBy(() -> secrets.find("shop", OWN, "a"))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("shop/a")
        .hasMessageContaining("set it again");
  }

  @Test
  void anEntryPutInThePlaceOfAnotherIsNotUsed() {
    secrets.set(SecretName.of("shop", "a"), "one");
    secrets.set(SecretName.of("shop", "b"), "two");
    String a = new String(state.find(SecretStore.KIND, "shop//a").orElseThrow());
    put("shop//b", a.replace("\"name\":\"a\"", "\"name\":\"b\""));

    assertThatThrownBy(() -> secrets.find("shop", OWN, "b"))
        .isInstanceOf(AgentException.Configuration.class);
  }

  @Test
  void refusesNamesThatCouldMeanSomethingElse() {
    for (String name : List.of("", "a/b", "@x", "a b", "x".repeat(200))) {
      assertThatThrownBy(() -> SecretName.global(name))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
    assertThatThrownBy(() -> new SecretName(Optional.empty(), Optional.of("db"), "a"))
        .hasMessageContaining("needs the deployment");
    assertThatThrownBy(() -> secrets.set(SecretName.global("big"), "x".repeat(600_000)))
        .hasMessageContaining("at most");
  }

  private void put(String key, String record) {
    state.commit(
        Change.of(new Change.Put(SecretStore.KIND, key, record.getBytes(StandardCharsets.UTF_8))));
  }

  private List<String> events() {
    return state.events(0, 100).events().stream()
        .map(EventPage.Numbered::event)
        .map(event -> event.kind())
        .toList();
  }
}

package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.secret.DeliveredSecrets.Delivered;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.spec.value.SecretRef;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeliveredSecretsTest {
  private static final SecretKey KEY = SecretKey.of("ab".repeat(32), "the test's key");
  private static final SecretRef.Scope OWN = new SecretRef.OfDeployment();

  private final StateStore state = new MemoryStateStore();
  private final SecretStore secrets = open();

  private SecretStore open() {
    return SecretStore.open(state, KEY, () -> Instant.EPOCH);
  }

  private void give(SecretName name, String value) {
    secrets.delivered().hold("shop", List.of(new Delivered(name, 7, value)));
  }

  @Test
  void aDeploymentOfTheClusterSeesNothingOfThisNode() {
    secrets.set(SecretName.global("password"), "of this node");
    give(SecretName.of("shop", "web", "token"), "of the cluster");

    assertThat(secrets.find("shop", new SecretRef.OfService("web"), "token"))
        .contains("of the cluster");
    assertThat(secrets.find("shop", OWN, "password")).isEmpty();
    assertThat(secrets.find("blog", OWN, "password")).contains("of this node");
    assertThat(secrets.partial("shop")).isTrue();
    assertThat(secrets.partial("blog")).isFalse();
    assertThat(secrets.list()).as("they are not this node's").hasSize(1);

    secrets.delivered().drop("shop");
    assertThat(secrets.find("shop", OWN, "password")).contains("of this node");
  }

  @Test
  void itsOwnComeBeforeThoseOfAll() {
    secrets
        .delivered()
        .hold(
            "shop",
            List.of(
                new Delivered(SecretName.global("db"), 1, "of all"),
                new Delivered(SecretName.global("other"), 1, "other of all"),
                new Delivered(SecretName.of("shop", "db"), 2, "of shop")));
    assertThat(secrets.find("shop", OWN, "db")).contains("of shop");
    assertThat(secrets.find("shop", OWN, "other")).contains("other of all");
  }

  @Test
  void theySurviveSealedAndAreHidden() {
    give(SecretName.of("shop", "db"), "correct horse");
    assertThat(secrets.redaction().text("a correct horse")).isEqualTo("a [secret]");
    for (StateStore.Entry entry : state.list(DeliveredSecrets.KIND)) {
      assertThat(new String(entry.value(), StandardCharsets.ISO_8859_1)).doesNotContain("horse");
    }

    SecretStore again = open();
    assertThat(again.find("shop", OWN, "db")).contains("correct horse");
    assertThat(again.redaction().text("a correct horse")).isEqualTo("a [secret]");
    assertThat(again.delivered().held("shop").getFirst().version()).isEqualTo(7);
    assertThat(again.delivered().held("shop").toString()).doesNotContain("horse");
  }

  @Test
  void damagedOnesAreNoneUntilTheyAreGivenAgain() {
    secrets.set(SecretName.global("db"), "of this node");
    give(SecretName.of("shop", "db"), "correct horse");
    state.commit(Change.of(new Change.Put(DeliveredSecrets.KIND, "shop", new byte[40])));

    SecretStore again = open();
    assertThat(again.find("shop", OWN, "db")).isEmpty();
    assertThat(again.delivered().deployments()).containsExactly("shop");
  }
}

package dev.zlayer.cluster.secret;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class StoredSecretsTest {
  private static final SecretId ID = SecretId.of("shop", "web", "db");

  private final MemoryClusterStore store = new MemoryClusterStore();
  private final StoredSecrets secrets =
      new StoredSecrets(store, InstantSource.fixed(Instant.EPOCH));
  private final SecretSeal seal = SecretSeal.of("c1", Authority.keys().getPrivate());

  private StoredSecrets.Listed set(String value) throws InterruptedException {
    return secrets.set(ID, value.getBytes(StandardCharsets.UTF_8), seal);
  }

  private Optional<String> value() throws InterruptedException {
    return secrets.value(ID, seal, limit()).map(StoredSecrets.Value::text);
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }

  @Test
  void theStoreHasNoValues() throws InterruptedException {
    set("hunter2 hunter2");
    assertThat(value()).contains("hunter2 hunter2");
    for (Entry entry : store.list("/", limit()).entries()) {
      assertThat(entry.value()).doesNotContain("hunter2");
    }
    assertThat(secrets.list().getFirst().id()).isEqualTo(ID);
    assertThat(ID).hasToString("shop/@web/db");
  }

  @Test
  void oneThatCannotBeReadHidesNoOtherAndIsSetAnew() throws InterruptedException {
    set("first");
    SecretId other = SecretId.global("other");
    for (String key : List.of(other.key(), StoreKeys.SECRETS + "of-no-form")) {
      var wrong = new Change.Put(key, "{\"changed\": \"yesterday\"}");
      var _ = store.transact(List.of(), List.of(wrong), limit());
    }
    assertThat(secrets.list()).extracting(StoredSecrets.Listed::id).containsExactly(ID);
    var _ = secrets.set(other, "second".getBytes(StandardCharsets.UTF_8), seal);
    assertThat(secrets.list()).extracting(StoredSecrets.Listed::id).contains(ID, other);
  }

  @Test
  void aVersionIsTheChangeThatAllNodesSee() throws InterruptedException {
    set("first");
    set("second");
    long seen = store.find(ID.key(), limit()).orElseThrow().modified();
    assertThat(secrets.value(ID, seal, limit()).orElseThrow().version()).isEqualTo(seen);
  }

  @Test
  void settingTheSameValueChangesNothing() throws InterruptedException {
    assertThat(set("first").revision()).isEqualTo(1);
    long before = store.list("/", limit()).revision();
    assertThat(set("first").revision()).isEqualTo(1);
    assertThat(store.list("/", limit()).revision()).isEqualTo(before);
    assertThat(set("second").revision()).isEqualTo(2);
  }

  @Test
  void oneThatCannotBeOpenedIsNamedAndSetAnew() throws InterruptedException {
    set("first");
    Entry sealed = store.list(StoreKeys.SEALED, limit()).entries().getFirst();
    store.put(sealed.key(), sealed.value().replace("\"revision\":1", "\"revision\":2"), limit());
    assertThatThrownBy(this::value)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("shop/@web/db")
        .hasMessageContaining("set it again");
    set("first");
    assertThat(value()).contains("first");
  }

  @Test
  void whatWasRemovedIsNotThere() throws InterruptedException {
    set("first");
    secrets.remove(ID);
    assertThat(store.list("/", limit()).entries()).isEmpty();
    assertThat(value()).isEmpty();
    assertThatThrownBy(() -> secrets.remove(ID)).isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> set("x".repeat(600_000))).hasMessageContaining("at most 524288");
  }
}

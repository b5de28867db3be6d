package dev.zlayer.cluster.secret;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/**
 * Secrets in the store of the cluster. Each is two keys that change together: one says that it is
 * there and is followed by all nodes, the other holds the sealed value and is read by those who can
 * open it.
 */
public final class StoredSecrets {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** As many as on one node. */
  private static final int MOST_BYTES = 512 * 1024;

  /**
   * What everybody may know.
   *
   * @param revision counts how often it was set
   */
  public record Listed(SecretId id, Instant changed, long revision, String fingerprint) {}

  /**
   * A secret, opened.
   *
   * @param version of the store; another one with every change
   */
  public record Value(SecretId id, long version, String text) {
    /** Values are not for messages. */
    @Override
    public String toString() {
      return id + " in version " + version;
    }
  }

  /** As it is stored for all. */
  private record Told(Instant changed, long revision, String fingerprint) {}

  /** As its value is stored, as base64. */
  private record Sealed(long revision, String sealed) {}

  private final ClusterStore store;
  private final InstantSource clock;

  public StoredSecrets(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  /** All of them, without their values; one that cannot be read keeps nobody from the others. */
  public List<Listed> list() throws InterruptedException {
    return store.list(StoreKeys.SECRETS, Deadline.after(LIMIT)).entries().stream()
        .flatMap(entry -> info(entry).stream())
        .toList();
  }

  private static Optional<Listed> info(Entry entry) {
    try {
      Told told = RecordJson.read(JsonText.parse(entry.value()), Told.class);
      return Optional.of(
          new Listed(
              SecretId.ofKey(entry.key()), told.changed(), told.revision(), told.fingerprint()));
    } catch (AgentException _) {
      return Optional.empty();
    }
  }

  /** Adds or replaces; setting the same value again changes nothing. */
  public Listed set(SecretId id, byte[] value, SecretSeal seal) throws InterruptedException {
    if (value.length > MOST_BYTES) {
      throw new AgentException.InvalidSpec(
          "secret %s has %d bytes: at most %d can be kept".formatted(id, value.length, MOST_BYTES));
    }
    Deadline deadline = Deadline.after(LIMIT);
    String fingerprint = seal.fingerprint(id, value);
    while (true) {
      Optional<Entry> before = store.find(id.key(), deadline);
      Optional<Listed> known = before.flatMap(StoredSecrets::info);
      if (known.filter(one -> one.fingerprint().equals(fingerprint)).isPresent()
          && opens(id, seal, deadline)) {
        return known.get();
      }
      var next =
          new Listed(id, clock.instant(), known.map(Listed::revision).orElse(0L) + 1, fingerprint);
      var told = new Told(next.changed(), next.revision(), fingerprint);
      var sealed =
          new Sealed(
              next.revision(),
              Base64.getEncoder().encodeToString(seal.close(id, next.revision(), value)));
      List<Change> changes =
          List.of(
              new Change.Put(id.key(), JsonText.print(RecordJson.write(told))),
              new Change.Put(id.sealedKey(), JsonText.print(RecordJson.write(sealed))));
      if (store.transact(List.of(unchanged(id, before)), changes, deadline).applied()) {
        return next;
      }
      deadline.check("setting secret " + id);
    }
  }

  /** One that cannot be opened is set anew. */
  private boolean opens(SecretId id, SecretSeal seal, Deadline deadline)
      throws InterruptedException {
    try {
      return value(id, seal, deadline).isPresent();
    } catch (AgentException.Configuration _) {
      return false;
    }
  }

  private static Condition unchanged(SecretId id, Optional<Entry> before) {
    return before
        .<Condition>map(entry -> new Condition.Unchanged(entry.key(), entry.modified()))
        .orElseGet(() -> new Condition.Absent(id.key()));
  }

  public void remove(SecretId id) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    while (true) {
      Entry before =
          store
              .find(id.key(), deadline)
              .orElseThrow(
                  () -> new AgentException.NotFound("secret '" + id + "'", "it was never set"));
      boolean removed =
          store
              .transact(
                  List.of(new Condition.Unchanged(before.key(), before.modified())),
                  List.of(new Change.Delete(id.key()), new Change.Delete(id.sealedKey())),
                  deadline)
              .applied();
      if (removed) {
        return;
      }
      deadline.check("removing secret " + id);
    }
  }

  /**
   * The value of one, as it is now.
   *
   * @throws AgentException.Configuration it cannot be opened
   */
  public Optional<Value> value(SecretId id, SecretSeal seal, Deadline deadline)
      throws InterruptedException {
    Optional<Entry> found = store.find(id.sealedKey(), deadline);
    return found.map(
        entry -> {
          Sealed sealed = RecordJson.read(JsonText.parse(entry.value()), Sealed.class);
          byte[] content =
              bytes(sealed.sealed())
                  .flatMap(bytes -> seal.open(id, sealed.revision(), bytes))
                  .orElseThrow(
                      () ->
                          new AgentException.Configuration(
                              "secret %s of the cluster is damaged, or was sealed by another"
                                      .formatted(id)
                                  + " cluster: set it again"));
          // both keys were changed by one transaction
          return new Value(id, entry.modified(), new String(content, StandardCharsets.UTF_8));
        });
  }

  private static Optional<byte[]> bytes(String base64) {
    try {
      return Optional.of(Base64.getDecoder().decode(base64));
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }
}

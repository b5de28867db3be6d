package dev.zlayer.engine.secret;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.translate.SecretSource;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.spec.value.SecretRef;
import dev.zlayer.task.LazyLogger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.time.format.DateTimeParseException;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Secrets in the state store, each sealed by itself. Values leave it only towards {@link
 * SecretSource} and {@link Redaction}. May be used from any thread.
 */
public final class SecretStore implements SecretSource {
  static final String KIND = "secret";

  /** Tells a wrong key at once, and not when the first secret is needed. */
  static final String CHECK_KIND = "secret-key";

  private static final System.Logger LOG = LazyLogger.of(SecretStore.class);
  private static final String CHECK = "check";
  private static final byte[] CHECK_TEXT = "zlayer".getBytes(StandardCharsets.US_ASCII);
  static final StoredFormat FORMAT = StoredFormat.of("the secret");
  private static final int MOST_BYTES = 512 * 1024;

  private final StateStore store;
  private final SecretCipher seal;
  private final InstantSource clock;
  private final Object writing = new Object();
  private volatile Redaction redaction = Redaction.NOTHING;
  private final DeliveredSecrets delivered;

  private SecretStore(StateStore store, SecretKey key, SecretCipher seal, InstantSource clock) {
    this.store = store;
    this.seal = seal;
    this.clock = clock;
    this.delivered =
        new DeliveredSecrets(new SealedRecords(store, key, DeliveredSecrets.KIND), this::hide);
  }

  /** Throws {@link AgentException.Configuration} when the secrets were sealed with another key. */
  public static SecretStore open(StateStore store, SecretKey key, InstantSource clock) {
    var seal = new SecretCipher(key);
    Optional<byte[]> check = store.find(CHECK_KIND, CHECK);
    if (check.isEmpty()) {
      store.commit(
          Change.of(new Change.Put(CHECK_KIND, CHECK, seal.close(CHECK_KIND, CHECK_TEXT))));
    } else if (seal.open(CHECK_KIND, check.get()).isEmpty()) {
      throw new AgentException.Configuration(
          "the secrets were sealed with another key than that of %s: give the key they were"
                  .formatted(key.origin())
              + " sealed with");
    }
    var secrets = new SecretStore(store, key, seal, clock);
    secrets.learn();
    return secrets;
  }

  /** Adds or replaces; setting the same value again changes nothing. */
  public SecretInfo set(SecretName name, String value) {
    byte[] content = value.getBytes(StandardCharsets.UTF_8);
    if (content.length > MOST_BYTES) {
      throw new AgentException.InvalidSpec(
          "secret %s has %d bytes: at most %d can be kept"
              .formatted(name, content.length, MOST_BYTES));
    }
    synchronized (writing) {
      Optional<Stored> before = replaceable(name);
      String fingerprint = seal.fingerprint(name.key(), content);
      if (before.isPresent() && before.get().info().fingerprint().equals(fingerprint)) {
        return before.get().info();
      }
      var info =
          new SecretInfo(
              name,
              clock.instant(),
              before.map(stored -> stored.info().revision()).orElse(0L) + 1,
              fingerprint);
      byte[] record = print(info, seal.close(name.key(), content));
      store.commit(
          Change.of(new Change.Put(KIND, name.key(), record))
              .plus(Change.of(event("secret.set", info))));
      learn();
      return info;
    }
  }

  public void remove(SecretName name) {
    synchronized (writing) {
      Stored stored =
          stored(name)
              .orElseThrow(
                  () -> new AgentException.NotFound("secret '" + name + "'", "it was never set"));
      store.commit(
          Change.of(new Change.Delete(KIND, name.key()))
              .plus(Change.of(event("secret.removed", stored.info()))));
    }
  }

  /** All secrets without their values. */
  public List<SecretInfo> list() {
    return readable().map(Stored::info).toList();
  }

  public Optional<SecretInfo> info(SecretName name) {
    return stored(name).map(Stored::info);
  }

  /** What a cluster gave to this node. */
  public DeliveredSecrets delivered() {
    return delivered;
  }

  /** A node of a cluster has only those secrets of a deployment that it needs. */
  @Override
  public boolean partial(String deployment) {
    return delivered.of(deployment);
  }

  /** A deployment sees its own secrets first, then those of all deployments. */
  @Override
  public Optional<String> find(String deployment, SecretRef.Scope scope, String name) {
    if (delivered.of(deployment)) {
      return delivered.find(deployment, scope, name);
    }
    if (!SecretName.owner(deployment)) { // a job that belongs to no deployment
      return scope instanceof SecretRef.OfDeployment
          ? value(SecretName.global(name))
          : Optional.empty();
    }
    return switch (scope) {
      case SecretRef.OfDeployment() ->
          value(SecretName.of(deployment, name)).or(() -> value(SecretName.global(name)));
      case SecretRef.OfService(String service) -> value(SecretName.of(deployment, service, name));
      case SecretRef.OfEnvironment _ -> Optional.empty();
    };
  }

  /**
   * Hides the values of all secrets, those that were replaced or removed since the agent started
   * too: what still runs may print them.
   */
  public Redaction redaction() {
    return redaction;
  }

  private void hide(Collection<String> values) {
    synchronized (writing) {
      redaction = redaction.with(values);
    }
  }

  private void learn() {
    redaction = redaction.with(readable().flatMap(stored -> opened(stored).stream()).toList());
  }

  /** One that cannot be read keeps nobody from the others; whoever asks for it hears why. */
  private Stream<Stored> readable() {
    return store.list(KIND).stream()
        .flatMap(
            entry -> {
              try {
                return Stream.of(parse(entry));
              } catch (AgentException.Configuration e) {
                LOG.log(System.Logger.Level.ERROR, e.getMessage());
                return Stream.empty();
              }
            });
  }

  private Optional<String> value(SecretName name) {
    return stored(name).map(this::open);
  }

  private record Stored(SecretInfo info, String sealed) {}

  private Optional<Stored> stored(SecretName name) {
    return store
        .find(KIND, name.key())
        .map(record -> parse(new StateStore.Entry(name.key(), record)));
  }

  /** A damaged one is set anew; one that a later program wrote is not overwritten. */
  private Optional<Stored> replaceable(SecretName name) {
    Optional<byte[]> record = store.find(KIND, name.key());
    try {
      return record.map(bytes -> parse(new StateStore.Entry(name.key(), bytes)));
    } catch (AgentException.Configuration e) {
      if (later(record.orElseThrow())) {
        throw e;
      }
      return Optional.empty();
    }
  }

  private static boolean later(byte[] record) {
    try {
      return FORMAT.later(JsonText.parse(record));
    } catch (AgentException.InvalidSpec _) {
      return false;
    }
  }

  private String open(Stored stored) {
    return opened(stored).orElseThrow(() -> damaged(stored.info().name().toString()));
  }

  private Optional<String> opened(Stored stored) {
    try {
      return seal.open(stored.info().name().key(), Base64.getDecoder().decode(stored.sealed()))
          .map(bytes -> new String(bytes, StandardCharsets.UTF_8));
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }

  private static AgentException.Configuration damaged(String name) {
    return new AgentException.Configuration(
        "the stored secret %s is damaged: set it again".formatted(name));
  }

  private Event event(String kind, SecretInfo info) {
    return new Event(
        clock.instant(),
        kind,
        info.name().toString(),
        Json.object()
            .putIf("deployment", info.name().deployment())
            .putIf("service", info.name().service())
            .put("name", info.name().name())
            .put("revision", info.revision())
            .put("fingerprint", info.fingerprint())
            .build());
  }

  private static byte[] print(SecretInfo info, byte[] sealed) {
    return JsonText.bytes(
        FORMAT
            .begin()
            .putIf("deployment", info.name().deployment())
            .putIf("service", info.name().service())
            .put("name", info.name().name())
            .put("changed_at", info.changedAt().toString())
            .put("revision", info.revision())
            .put("fingerprint", info.fingerprint())
            .put("sealed", Base64.getEncoder().encodeToString(sealed))
            .build());
  }

  private static Stored parse(StateStore.Entry entry) {
    try {
      Json json = FORMAT.upgrade(JsonText.parse(entry.value()), "state.db: " + entry.key());
      var name =
          new SecretName(
              json.at("deployment").string(),
              json.at("service").string(),
              json.at("name").string().orElse(""));
      if (!name.key().equals(entry.key())) {
        throw damaged(entry.key());
      }
      return new Stored(
          new SecretInfo(
              name,
              Instant.parse(json.at("changed_at").string().orElse("")),
              json.at("revision").integer().orElse(0L),
              json.at("fingerprint").string().orElse("")),
          json.at("sealed").string().orElse(""));
    } catch (AgentException.InvalidSpec | DateTimeParseException e) {
      throw damaged(entry.key());
    }
  }
}

package dev.zlayer.engine.secret;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.port.SealedStore;
import dev.zlayer.spec.value.SecretRef;
import dev.zlayer.task.LazyLogger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Secrets that a cluster gave to this node, by deployment, sealed as this node's own. A deployment
 * that has some, or is known to have none, sees nothing else: not the secrets of this node. May be
 * used from any thread; changed by one at a time.
 */
public final class DeliveredSecrets {
  static final String KIND = "delivered-secrets";

  private static final System.Logger LOG = LazyLogger.of(DeliveredSecrets.class);
  private static final StoredFormat FORMAT = StoredFormat.of("secrets of the cluster");

  private final SealedStore store;
  private final Consumer<Collection<String>> hidden;
  private final Map<String, Map<SecretName, Delivered>> held = new ConcurrentHashMap<>();

  /**
   * One of them.
   *
   * @param version in the cluster
   */
  public record Delivered(SecretName name, long version, String value) {
    /** Values are not for messages. */
    @Override
    public String toString() {
      return name + " in version " + version;
    }
  }

  /** {@code hidden} is told every value that must not be shown. */
  DeliveredSecrets(SealedStore store, Consumer<Collection<String>> hidden) {
    this.store = store;
    this.hidden = hidden;
    for (String deployment : store.keys()) {
      try {
        store.find(deployment).ifPresent(text -> know(deployment, parse(text)));
      } catch (AgentException e) {
        // the cluster gives them again; until then it has none, rather than those of this node
        know(deployment, List.of());
        LOG.log(System.Logger.Level.ERROR, e.getMessage());
      }
    }
  }

  public Set<String> deployments() {
    return Set.copyOf(held.keySet());
  }

  /** Whether a deployment is of the cluster, and uses secrets of it alone. */
  public boolean of(String deployment) {
    return held.containsKey(deployment);
  }

  public List<Delivered> held(String deployment) {
    return List.copyOf(held.getOrDefault(deployment, Map.of()).values());
  }

  /** Replaces those of a deployment. */
  public void hold(String deployment, Collection<Delivered> secrets) {
    store.put(deployment, print(secrets));
    know(deployment, secrets);
  }

  /** Forgets those of a deployment, which is of this node from now on if it is at all. */
  public void drop(String deployment) {
    store.remove(deployment);
    held.remove(deployment);
  }

  /** A deployment sees its own secrets first, then those of all deployments. */
  Optional<String> find(String deployment, SecretRef.Scope scope, String name) {
    Map<SecretName, Delivered> known = held.getOrDefault(deployment, Map.of());
    return switch (scope) {
      case SecretRef.OfDeployment() ->
          Optional.ofNullable(known.get(SecretName.of(deployment, name)))
              .or(() -> Optional.ofNullable(known.get(SecretName.global(name))))
              .map(Delivered::value);
      case SecretRef.OfService(String service) ->
          Optional.ofNullable(known.get(SecretName.of(deployment, service, name)))
              .map(Delivered::value);
      case SecretRef.OfEnvironment _ -> Optional.empty();
    };
  }

  private void know(String deployment, Collection<Delivered> secrets) {
    hidden.accept(secrets.stream().map(Delivered::value).toList());
    var byName = new LinkedHashMap<SecretName, Delivered>();
    secrets.forEach(one -> byName.put(one.name(), one));
    held.put(deployment, byName);
  }

  private static String print(Collection<Delivered> secrets) {
    List<Json> all =
        secrets.stream()
            .<Json>map(
                one ->
                    Json.object()
                        .putIf("deployment", one.name().deployment())
                        .putIf("service", one.name().service())
                        .put("name", one.name().name())
                        .put("version", one.version())
                        .put("value", one.value())
                        .build())
            .toList();
    return JsonText.print(FORMAT.begin().put("secrets", new Json.Arr(all)).build());
  }

  private static List<Delivered> parse(String text) {
    Json json = FORMAT.upgrade(JsonText.parse(text), "state.db: " + KIND);
    var all = new ArrayList<Delivered>();
    for (Json one : json.at("secrets").items()) {
      all.add(
          new Delivered(
              new SecretName(
                  one.at("deployment").string(),
                  one.at("service").string(),
                  one.at("name").string().orElse("")),
              one.at("version").integer().orElse(0L),
              one.at("value").string().orElse("")));
    }
    return all;
  }
}

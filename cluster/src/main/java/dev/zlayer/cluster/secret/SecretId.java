package dev.zlayer.cluster.secret;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.error.AgentException;
import java.util.Optional;

/**
 * Which secret: one of all deployments, of one deployment, or of one service of a deployment.
 *
 * @param deployment empty for secrets that every deployment sees
 * @param service only together with a deployment
 */
public record SecretId(Optional<String> deployment, Optional<String> service, String name)
    implements Comparable<SecretId> {
  public SecretId {
    boolean wrong =
        name.isEmpty()
            || name.contains("/")
            || deployment.filter(text -> text.isEmpty() || text.contains("/")).isPresent()
            || service.filter(text -> text.isEmpty() || text.contains("/")).isPresent()
            || (service.isPresent() && deployment.isEmpty());
    if (wrong) {
      throw new AgentException.InvalidSpec("'%s' is not a name for a secret".formatted(name));
    }
  }

  public static SecretId global(String name) {
    return new SecretId(Optional.empty(), Optional.empty(), name);
  }

  public static SecretId of(String deployment, String name) {
    return new SecretId(Optional.of(deployment), Optional.empty(), name);
  }

  public static SecretId of(String deployment, String service, String name) {
    return new SecretId(Optional.of(deployment), Optional.of(service), name);
  }

  /** Below a prefix of the store; no part can contain the slash. */
  String path() {
    return deployment.orElse("") + "/" + service.orElse("") + "/" + name;
  }

  /** Where nodes see that it is there. */
  public String key() {
    return StoreKeys.SECRETS + path();
  }

  String sealedKey() {
    return StoreKeys.SEALED + path();
  }

  static SecretId ofKey(String key) {
    String[] parts = key.substring(StoreKeys.SECRETS.length()).split("/", -1);
    if (parts.length != 3) {
      throw new AgentException.Configuration("the cluster stores a secret as '%s'".formatted(key));
    }
    return new SecretId(given(parts[0]), given(parts[1]), parts[2]);
  }

  private static Optional<String> given(String text) {
    return Optional.of(text).filter(one -> !one.isEmpty());
  }

  /** For people: {@code name}, {@code deployment/name} or {@code deployment/@service/name}. */
  @Override
  public String toString() {
    return deployment.map(text -> text + "/").orElse("")
        + service.map(text -> "@" + text + "/").orElse("")
        + name;
  }

  @Override
  public int compareTo(SecretId other) {
    return path().compareTo(other.path());
  }
}

package dev.zlayer.engine.secret;

import dev.zlayer.error.AgentException;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which secret: one of all deployments, of one deployment, or of one service of a deployment.
 *
 * @param deployment empty for secrets that every deployment sees
 * @param service only together with a deployment
 */
public record SecretName(Optional<String> deployment, Optional<String> service, String name) {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}");
  private static final Pattern OWNER = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,62}");

  public SecretName {
    require(
        NAME.matcher(name).matches(),
        "'%s' is not a name for a secret: use letters, digits, '_', '.' and '-'".formatted(name));
    deployment.ifPresent(SecretName::requireOwner);
    service.ifPresent(SecretName::requireOwner);
    require(
        service.isEmpty() || deployment.isPresent(),
        "a secret of a service needs the deployment of that service");
  }

  public static SecretName global(String name) {
    return new SecretName(Optional.empty(), Optional.empty(), name);
  }

  public static SecretName of(String deployment, String name) {
    return new SecretName(Optional.of(deployment), Optional.empty(), name);
  }

  public static SecretName of(String deployment, String service, String name) {
    return new SecretName(Optional.of(deployment), Optional.of(service), name);
  }

  /** For the store; no part can contain the slash. Never parsed back. */
  String key() {
    return deployment.orElse("") + "/" + service.orElse("") + "/" + name;
  }

  /** For people: {@code name}, {@code deployment/name} or {@code deployment/@service/name}. */
  @Override
  public String toString() {
    return deployment.map(text -> text + "/").orElse("")
        + service.map(text -> "@" + text + "/").orElse("")
        + name;
  }

  /** Whether a deployment or service can be called so. */
  static boolean owner(String name) {
    return OWNER.matcher(name).matches();
  }

  private static void requireOwner(String owner) {
    require(owner(owner), "'%s' is not the name of a deployment or service".formatted(owner));
  }

  private static void require(boolean right, String problem) {
    if (!right) {
      throw new AgentException.InvalidSpec(problem);
    }
  }
}

package dev.zlayer.engine.translate;

import dev.zlayer.engine.job.JobKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.value.EnvValue;
import dev.zlayer.spec.value.SecretRef;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Replaces references by what they refer to. Fails closed: nothing unresolved ever gets through.
 */
public final class EnvResolver {
  private final EnvSource env;
  private final SecretSource secrets;
  private final boolean outline;

  public EnvResolver(EnvSource env, SecretSource secrets) {
    this(env, secrets, false);
  }

  private EnvResolver(EnvSource env, SecretSource secrets, boolean outline) {
    this.env = env;
    this.secrets = secrets;
    this.outline = outline;
  }

  /** Leaves secrets empty where this node is given them only with the first replica. */
  EnvResolver outline(String deployment) {
    return secrets.partial(deployment) ? new EnvResolver(env, secrets, true) : this;
  }

  public Map<String, String> resolve(String deployment, Map<String, EnvValue> values) {
    var resolved = new LinkedHashMap<String, String>();
    values.forEach((name, value) -> resolved.put(name, resolve(deployment, value)));
    return resolved;
  }

  /** Throws {@link AgentException.NotFound} that names the variable or secret, never its value. */
  public String resolve(String deployment, EnvValue value) {
    var text = new StringBuilder();
    for (EnvValue.Part part : value.parts()) {
      text.append(
          switch (part) {
            case EnvValue.Literal(String literal) -> literal;
            case EnvValue.HostVariable(String name) ->
                env.find(name)
                    .orElseThrow(
                        () ->
                            new AgentException.NotFound(
                                "variable " + name,
                                "set it in the agent's environment or remove $E:" + name));
            case EnvValue.Secret(SecretRef reference) -> secret(deployment, reference);
          });
    }
    return text.toString();
  }

  /** The secret, or its field when the reference names one. */
  public String secret(String deployment, SecretRef reference) {
    if (outline) {
      return "";
    }
    String whole =
        secrets
            .find(deployment, reference.scope(), reference.name())
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "secret " + reference.name(),
                        deployment.equals(JobKey.NONE)
                            ? "set it with 'secret set', without a deployment"
                            : "set it with 'secret set' for deployment " + deployment));
    return reference.field().map(field -> field(reference, whole, field)).orElse(whole);
  }

  private static String field(SecretRef reference, String whole, String field) {
    Json object;
    try {
      object = JsonText.parse(whole);
    } catch (AgentException.InvalidSpec _) {
      // the parser's words could show a part of the secret
      throw new AgentException.InvalidSpec(
          "secret %s is not a JSON object, so it has no field %s"
              .formatted(reference.name(), field));
    }
    if (!object.members().containsKey(field)) {
      throw new AgentException.NotFound(
          "field %s of secret %s".formatted(field, reference.name()),
          "write one of the fields it has");
    }
    return switch (object.at(field)) {
      case Json.Str(String text) -> text;
      case Json.Null() -> "";
      case Json other -> JsonText.print(other);
    };
  }
}

package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names a secret, or one field of a secret that holds a JSON object.
 *
 * @param field the JSON field to take instead of the whole secret
 */
@TextForm(is = "the name of a secret", example = "db-password")
public record SecretRef(Scope scope, String name, Optional<String> field) {
  /** Where a secret is kept. */
  public sealed interface Scope {}

  /** The secrets of the deployment itself: {@code name}. */
  public record OfDeployment() implements Scope {}

  /** The secrets of one of its services: {@code @service/name}. */
  public record OfService(String service) implements Scope {}

  /** The secrets of an environment: {@code :env/name} or {@code project:env/name}. */
  public record OfEnvironment(Optional<String> project, String environment) implements Scope {}

  private static final String WORD = "[A-Za-z0-9_][A-Za-z0-9_.-]*";
  private static final Pattern FORM =
      Pattern.compile(
          "(?:@(?<service>W)/|(?<project>W)?:(?<environment>W)/)?(?<name>W)(?:/(?<field>W))?"
              .replace("W", WORD));

  /** Parses what follows {@code $S:}. */
  public static SecretRef parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' does not name a secret, write name, name/field, @service/name or :env/name"
              .formatted(text));
    }
    return new SecretRef(scope(form), form.group("name"), Optional.ofNullable(form.group("field")));
  }

  /** As it was written. */
  @Override
  public String toString() {
    String owner =
        switch (scope) {
          case OfDeployment() -> "";
          case OfService(String service) -> "@" + service + "/";
          case OfEnvironment(var project, String environment) ->
              project.orElse("") + ":" + environment + "/";
        };
    return owner + name + field.map(text -> "/" + text).orElse("");
  }

  private static Scope scope(Matcher form) {
    if (form.group("service") != null) {
      return new OfService(form.group("service"));
    }
    return form.group("environment") == null
        ? new OfDeployment()
        : new OfEnvironment(Optional.ofNullable(form.group("project")), form.group("environment"));
  }
}

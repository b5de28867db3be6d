package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The value of an environment variable, cut into what is literal and what must be looked up.
 *
 * <p>A value that begins with {@code $E:NAME} or {@code $S:name} is that variable of the agent's
 * own environment or that secret as a whole. Inside a longer text the same is written {@code
 * ${E:NAME}} and {@code ${S:name}}. One more dollar sign takes the meaning away: {@code $$E:X} and
 * {@code $${E:X}} stand for the text with one dollar less. Every other dollar is just a dollar.
 */
@TextForm(is = "text", example = "info")
public record EnvValue(List<Part> parts) {
  /** A piece of the value. */
  public sealed interface Part {}

  public record Literal(String text) implements Part {}

  /** A variable of the agent's environment. */
  public record HostVariable(String name) implements Part {}

  public record Secret(SecretRef reference) implements Part {}

  private static final Pattern INSIDE = Pattern.compile("(\\$?)\\$\\{([ES]):([^}]*)(}?)");
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

  public EnvValue {
    parts = List.copyOf(parts);
  }

  public static EnvValue parse(String text) {
    if (text.startsWith("$E:") || text.startsWith("$S:")) {
      return new EnvValue(List.of(reference(text.substring(1, 2), text.substring(3))));
    }
    if (text.startsWith("$secret:")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not supported, write $S:name for a secret or $E:NAME for a variable of the agent"
              .formatted(text));
    }
    boolean escaped = text.startsWith("$$E:") || text.startsWith("$$S:");
    return new EnvValue(pieces(escaped ? text.substring(1) : text));
  }

  /** The value when nothing has to be looked up. */
  public java.util.Optional<String> literal() {
    var text = new StringBuilder();
    for (Part part : parts) {
      if (!(part instanceof Literal(String piece))) {
        return java.util.Optional.empty();
      }
      text.append(piece);
    }
    return java.util.Optional.of(text.toString());
  }

  private static List<Part> pieces(String text) {
    var parts = new ArrayList<Part>();
    Matcher inside = INSIDE.matcher(text);
    int end = 0;
    while (inside.find()) {
      if (!inside.group(1).isEmpty()) {
        parts.add(new Literal(text.substring(end, inside.start()) + inside.group().substring(1)));
      } else {
        if (inside.group(4).isEmpty()) {
          throw new AgentException.InvalidSpec(
              "'%s' is not closed, write ${%s:...}".formatted(inside.group(), inside.group(2)));
        }
        parts.add(new Literal(text.substring(end, inside.start())));
        parts.add(reference(inside.group(2), inside.group(3)));
      }
      end = inside.end();
    }
    parts.add(new Literal(text.substring(end)));
    parts.removeIf(part -> part instanceof Literal(String piece) && piece.isEmpty());
    return parts;
  }

  private static Part reference(String kind, String name) {
    if (kind.equals("S")) {
      return new Secret(SecretRef.parse(name));
    }
    if (!VARIABLE.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not the name of an environment variable, write $E:NAME".formatted(name));
    }
    return new HostVariable(name);
  }
}

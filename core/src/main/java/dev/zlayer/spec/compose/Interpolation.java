package dev.zlayer.spec.compose;

import dev.zlayer.error.AgentException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Variables in the texts of a file: {@code $NAME}, {@code ${NAME:-default}}, {@code $$} in a
 * Compose file; in a deployment file only those with braces.
 */
public final class Interpolation {
  private static final int DEEPEST = 20;

  /** What the agent resolves itself. */
  private static final Pattern REFERENCE = Pattern.compile("[ES]:[A-Za-z_@].*");

  private final Map<String, String> variables;

  public Interpolation(Map<String, String> variables) {
    this.variables = Map.copyOf(variables);
  }

  Optional<String> find(String name) {
    return Optional.ofNullable(variables.get(name));
  }

  /** Throws {@link AgentException.InvalidSpec} for a wrong or missing variable. */
  String apply(String text) {
    return apply(text, 0);
  }

  private String apply(String text, int depth) {
    if (text.indexOf('$') < 0) {
      return text;
    }
    if (depth > DEEPEST) {
      throw new AgentException.InvalidSpec("variables are nested too deeply");
    }
    var out = new StringBuilder();
    int at = 0;
    while (at < text.length()) {
      char c = text.charAt(at);
      if (c != '$') {
        out.append(c);
        at++;
      } else if (text.startsWith("$$", at)) {
        out.append('$');
        at += 2;
      } else if (text.startsWith("${", at)) {
        int end = closing(text, at + 2);
        out.append(value(text.substring(at + 2, end), depth));
        at = end + 1;
      } else {
        int end = nameEnd(text, at + 1);
        if (end == at + 1) {
          throw new AgentException.InvalidSpec(
              "a single '$' begins a variable; write '$$' for '$'");
        }
        out.append(find(text.substring(at + 1, end)).orElse(""));
        at = end;
      }
    }
    return out.toString();
  }

  /**
   * Replaces variables in braces; two dollar signs before a brace stand for one. References to
   * secrets and to variables of the agent stay for the agent. A variable that is not set needs a
   * default.
   */
  public String braced(String text) {
    var out = new StringBuilder();
    int at = 0;
    while (at < text.length()) {
      int begin = text.indexOf("${", at);
      if (begin < 0) {
        break;
      }
      int end = closing(text, begin + 2);
      String inner = text.substring(begin + 2, end);
      boolean escaped = begin > at && text.charAt(begin - 1) == '$';
      boolean reference = REFERENCE.matcher(inner).matches();
      out.append(text, at, escaped && !reference ? begin - 1 : begin);
      if (escaped || reference) {
        out.append("${").append(inner).append('}');
      } else {
        requireSet(inner);
        out.append(value(inner, 0));
      }
      at = end + 1;
    }
    return out.append(text.substring(at)).toString();
  }

  private void requireSet(String name) {
    if (nameEnd(name, 0) == name.length() && find(name).isEmpty()) {
      throw new AgentException.InvalidSpec(
          "variable %s is not set; write ${%s:-DEFAULT}, or $${%s} for the text itself"
              .formatted(name, name, name));
    }
  }

  private static int closing(String text, int from) {
    int depth = 1;
    for (int at = from; at < text.length(); at++) {
      if (text.startsWith("${", at)) {
        depth++;
      } else if (text.charAt(at) == '}' && --depth == 0) {
        return at;
      }
    }
    throw new AgentException.InvalidSpec("'${' without '}'");
  }

  private static int nameEnd(String text, int from) {
    int at = from;
    while (at < text.length()
        && (text.charAt(at) == '_'
            || (text.charAt(at) < 128 && Character.isLetter(text.charAt(at)))
            || (at > from && Character.isDigit(text.charAt(at))))) {
      at++;
    }
    return at;
  }

  private String value(String inner, int depth) {
    int end = nameEnd(inner, 0);
    String name = inner.substring(0, end);
    String rest = inner.substring(end);
    if (name.isEmpty()) {
      throw new AgentException.InvalidSpec("'${%s}' names no variable".formatted(inner));
    }
    Optional<String> found = find(name);
    if (rest.isEmpty()) {
      return found.orElse("");
    }
    boolean emptyCounts = rest.startsWith(":");
    String operator = emptyCounts ? rest.substring(1) : rest;
    if (operator.isEmpty()) {
      throw new AgentException.InvalidSpec("'${%s}' is not a variable".formatted(inner));
    }
    boolean set = found.isPresent() && !(emptyCounts && found.get().isEmpty());
    String argument = operator.substring(1);
    return switch (operator.charAt(0)) {
      case '-' -> set ? found.get() : apply(argument, depth + 1);
      case '+' -> set ? apply(argument, depth + 1) : "";
      case '?' -> {
        if (!set) {
          String reason = apply(argument, depth + 1);
          throw new AgentException.InvalidSpec(
              "variable %s is not set%s".formatted(name, reason.isEmpty() ? "" : ": " + reason));
        }
        yield found.get();
      }
      default -> throw new AgentException.InvalidSpec("'${%s}' is not a variable".formatted(inner));
    };
  }

  /** The variables of a file of lines {@code NAME=value}; a name alone takes the value of here. */
  public static Map<String, String> lines(String text, Map<String, String> here) {
    var found = new LinkedHashMap<String, String>();
    for (String raw : text.lines().toList()) {
      String line = raw.strip();
      if (line.startsWith("export ")) {
        line = line.substring("export ".length()).strip();
      }
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      int equals = line.indexOf('=');
      if (equals < 0) {
        String name = line;
        Optional.ofNullable(here.get(name)).ifPresent(value -> found.put(name, value));
      } else if (equals > 0) {
        found.put(line.substring(0, equals).strip(), unquoted(line.substring(equals + 1).strip()));
      }
    }
    return found;
  }

  private static String unquoted(String value) {
    if (value.length() >= 2 && value.startsWith("'") && value.indexOf('\'', 1) > 0) {
      return value.substring(1, value.indexOf('\'', 1));
    }
    if (value.length() >= 2 && value.startsWith("\"")) {
      var out = new StringBuilder();
      for (int at = 1; at < value.length() && value.charAt(at) != '"'; at++) {
        char c = value.charAt(at);
        if (c == '\\' && at + 1 < value.length()) {
          char next = value.charAt(++at);
          out.append(next == 'n' ? '\n' : next == 't' ? '\t' : next);
        } else {
          out.append(c);
        }
      }
      return out.toString();
    }
    int comment = value.indexOf(" #");
    return comment < 0 ? value : value.substring(0, comment).strip();
  }
}

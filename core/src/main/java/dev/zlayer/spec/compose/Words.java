package dev.zlayer.spec.compose;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Values of Compose files that are written differently here. Pure. */
final class Words {
  private static final Pattern SIZE = Pattern.compile("([0-9]+(?:\\.[0-9]+)?) *([kmgtp]?)i?b?");
  private static final String UNITS = "kmgtp";

  private Words() {}

  /** Splits a command as a shell would: spaces, quotes, backslashes. */
  static List<String> split(String text) {
    var words = new ArrayList<String>();
    var word = new StringBuilder();
    boolean inWord = false;
    char quote = 0;
    for (int at = 0; at < text.length(); at++) {
      char c = text.charAt(at);
      if (quote != 0) {
        if (c == quote) {
          quote = 0;
        } else if (c == '\\' && quote == '"' && at + 1 < text.length()) {
          char next = text.charAt(at + 1);
          if (next == '"' || next == '\\' || next == '$') {
            at++;
            word.append(next);
          } else {
            word.append(c);
          }
        } else {
          word.append(c);
        }
      } else if (c == '\'' || c == '"') {
        quote = c;
        inWord = true;
      } else if (c == '\\' && at + 1 < text.length()) {
        word.append(text.charAt(++at));
        inWord = true;
      } else if (Character.isWhitespace(c)) {
        if (inWord) {
          words.add(word.toString());
          word.setLength(0);
          inWord = false;
        }
      } else {
        word.append(c);
        inWord = true;
      }
    }
    if (quote != 0) {
      throw new AgentException.InvalidSpec("a quote is not closed in '%s'".formatted(text));
    }
    if (inWord) {
      words.add(word.toString());
    }
    return words;
  }

  /** {@code 1.5gb} as {@code 1536Mi}; Compose counts in powers of 1024. */
  static String size(String text) {
    Matcher matcher = SIZE.matcher(text.strip().toLowerCase(Locale.ROOT));
    if (!matcher.matches()) {
      throw new AgentException.InvalidSpec("'%s' is not a size such as 512m".formatted(text));
    }
    int power = matcher.group(2).isEmpty() ? 0 : UNITS.indexOf(matcher.group(2)) + 1;
    long bytes = Math.round(Double.parseDouble(matcher.group(1)) * Math.pow(1024, power));
    String[] units = {"", "Ki", "Mi", "Gi", "Ti"};
    int unit = 0;
    while (unit + 1 < units.length && bytes > 0 && bytes % 1024 == 0) {
      bytes /= 1024;
      unit++;
    }
    return bytes + units[unit];
  }

  static String reason(AgentException.InvalidSpec e) {
    return Objects.requireNonNullElse(e.getMessage(), "is not valid");
  }

  /** A mapping in this order: key, value, key, value. */
  static Map<String, Object> map(Object... keysAndValues) {
    var made = new LinkedHashMap<String, Object>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      made.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return made;
  }

  /** A text of ours that means itself, whatever it contains. */
  static String literal(String value) {
    return value.replaceAll("\\$(?=\\{?[ES]:)", "\\$\\$");
  }
}

package dev.zlayer.image.registry;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What a registry wants to see before it answers.
 *
 * @param scheme lower case, {@code bearer} or {@code basic}
 * @param parameters by lower-case name
 */
record Challenge(String scheme, Map<String, String> parameters) {
  private static final int MAX_HEADER = 8 << 10;

  Challenge {
    parameters = Map.copyOf(parameters);
  }

  /** The challenge we can answer best: bearer, then basic. */
  static Optional<Challenge> best(List<String> headers) {
    List<Challenge> all = headers.stream().flatMap(header -> parse(header).stream()).toList();
    return all.stream()
        .filter(challenge -> challenge.scheme.equals("bearer"))
        .filter(challenge -> challenge.parameters.containsKey("realm"))
        .findFirst()
        .or(() -> all.stream().filter(challenge -> challenge.scheme.equals("basic")).findFirst());
  }

  /** All challenges of one {@code WWW-Authenticate} header (RFC 9110, section 11.6.1). */
  static List<Challenge> parse(String header) {
    return header.length() > MAX_HEADER ? List.of() : new Parser(header).challenges();
  }

  private static final class Parser {
    private final String text;
    private int at;

    Parser(String text) {
      this.text = text;
    }

    List<Challenge> challenges() {
      var result = new ArrayList<Challenge>();
      skip(" \t,");
      while (at < text.length()) {
        String scheme = token();
        if (scheme.isEmpty()) {
          return result; // not a header we understand: what came before may still help
        }
        skip(" \t");
        result.add(new Challenge(scheme.toLowerCase(Locale.ROOT), parameters()));
        skip(" \t,");
      }
      return result;
    }

    private Map<String, String> parameters() {
      var result = new LinkedHashMap<String, String>();
      while (at < text.length()) {
        int before = at;
        String name = token();
        skip(" \t");
        if (name.isEmpty() || at >= text.length() || text.charAt(at) != '=') {
          at = before; // the next scheme begins here
          return result;
        }
        at++;
        skip(" \t");
        result.put(name.toLowerCase(Locale.ROOT), value());
        skip(" \t");
        if (at >= text.length() || text.charAt(at) != ',') {
          return result;
        }
        skip(" \t,");
      }
      return result;
    }

    private String value() {
      if (at >= text.length() || text.charAt(at) != '"') {
        return token();
      }
      var value = new StringBuilder();
      for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
        if (text.charAt(at) == '\\' && at + 1 < text.length()) {
          at++;
        }
        value.append(text.charAt(at));
      }
      at++;
      return value.toString();
    }

    private String token() {
      int start = at;
      while (at < text.length() && " \t,=\"".indexOf(text.charAt(at)) < 0) {
        at++;
      }
      return text.substring(start, at);
    }

    private void skip(String characters) {
      while (at < text.length() && characters.indexOf(text.charAt(at)) >= 0) {
        at++;
      }
    }
  }
}

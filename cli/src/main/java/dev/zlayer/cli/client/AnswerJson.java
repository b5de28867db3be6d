package dev.zlayer.cli.client;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Reads what the daemon answers. The parser that {@link JsonText} uses is made for input of all
 * kinds and takes a command longer to get ready than its question takes to be answered; what is
 * plain is read here, and whatever is not is left to that one, with all that it checks.
 */
final class AnswerJson {
  private static final int DEEPEST = 60;

  /** Of a number that fits into a long whatever its digits are. */
  private static final int DIGITS = 18;

  private final String text;
  private int at;

  private AnswerJson(String text) {
    this.text = text;
  }

  static Json parse(String text) {
    try {
      var reader = new AnswerJson(text);
      Json value = reader.value(0);
      reader.blanks();
      if (reader.at == text.length()) {
        return value;
      }
    } catch (NotPlain | StringIndexOutOfBoundsException | NumberFormatException _) {
      // read again below
    }
    return JsonText.parse(text);
  }

  private Json value(int depth) {
    blanks();
    char c = text.charAt(at);
    return switch (c) {
      case '{' -> object(deeper(depth));
      case '[' -> array(deeper(depth));
      case '"' -> new Json.Str(string());
      case 't' -> word("true", new Json.Bool(true));
      case 'f' -> word("false", new Json.Bool(false));
      case 'n' -> word("null", Json.Null.INSTANCE);
      default -> number();
    };
  }

  private static int deeper(int depth) {
    if (depth >= DEEPEST) {
      throw new NotPlain();
    }
    return depth + 1;
  }

  private Json object(int depth) {
    Map<String, Json> members = new LinkedHashMap<>();
    at++;
    blanks();
    if (text.charAt(at) == '}') {
      at++;
      return new Json.Obj(members);
    }
    while (true) {
      blanks();
      expect('"');
      String name = string();
      blanks();
      expect(':');
      at++;
      if (members.put(name, value(depth)) != null) {
        throw new NotPlain(); // twice
      }
      blanks();
      if (text.charAt(at) == '}') {
        at++;
        return new Json.Obj(members);
      }
      expect(',');
      at++;
    }
  }

  private Json array(int depth) {
    var items = new ArrayList<Json>();
    at++;
    blanks();
    if (text.charAt(at) == ']') {
      at++;
      return new Json.Arr(items);
    }
    while (true) {
      items.add(value(depth));
      blanks();
      if (text.charAt(at) == ']') {
        at++;
        return new Json.Arr(items);
      }
      expect(',');
      at++;
    }
  }

  private String string() {
    int from = ++at;
    while (true) {
      char c = text.charAt(at);
      if (c == '"') {
        return text.substring(from, at++);
      }
      if (c == '\\' || c < ' ') {
        return escaped(from);
      }
      at++;
    }
  }

  /** The rest of a string, from its first escape on. */
  private String escaped(int from) {
    var result = new StringBuilder().append(text, from, at);
    while (true) {
      char c = text.charAt(at++);
      if (c == '"') {
        return result.toString();
      }
      if (c < ' ') {
        throw new NotPlain();
      }
      result.append(c == '\\' ? escape() : c);
    }
  }

  private char escape() {
    char c = text.charAt(at++);
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'n' -> '\n';
      case 't' -> '\t';
      case 'r' -> '\r';
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'u' -> unit();
      default -> throw new NotPlain();
    };
  }

  /** Four hexadecimal digits. */
  private char unit() {
    for (int i = at; i < at + 4; i++) {
      if (Character.digit(text.charAt(i), 16) < 0) {
        throw new NotPlain(); // a sign
      }
    }
    char unit = (char) Integer.parseInt(text, at, at + 4, 16);
    at += 4;
    return unit;
  }

  private Json word(String word, Json value) {
    if (!text.startsWith(word, at)) {
      throw new NotPlain();
    }
    at += word.length();
    return value;
  }

  private Json number() {
    int from = at;
    if (text.charAt(at) == '-') {
      at++;
    }
    int digits = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    boolean zeros = at - digits > 1 && text.charAt(digits) == '0';
    boolean more = at < text.length() && ".eE".indexOf(text.charAt(at)) >= 0;
    if (at == digits || at - digits > DIGITS || zeros || more) {
      throw new NotPlain();
    }
    return new Json.Num(Long.parseLong(text, from, at, 10));
  }

  private void blanks() {
    while (at < text.length() && " \n\r\t".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private void expect(char c) {
    if (text.charAt(at) != c) {
      throw new NotPlain();
    }
  }

  /** Never seen by anybody. */
  private static final class NotPlain extends RuntimeException {
    NotPlain() {
      super("not plain", null, false, false);
    }
  }
}

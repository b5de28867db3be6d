package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/** Text to tree and back. Reading is bounded in depth and refuses duplicate members. */
public final class JsonText {
  private static final String HEX = "0123456789ABCDEF";

  /** On its own, since whoever only prints needs no parser. */
  private static final class Parser {
    static final JsonFactory FACTORY =
        JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(64).build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
  }

  private JsonText() {}

  /** Throws {@link AgentException.InvalidSpec} with line and column for anything but one value. */
  public static Json parse(String text) {
    return parse(Parser.FACTORY.createParser(ObjectReadContext.empty(), text));
  }

  public static Json parse(byte[] utf8) {
    return parse(Parser.FACTORY.createParser(ObjectReadContext.empty(), utf8));
  }

  public static Json parse(InputStream utf8) {
    return parse(Parser.FACTORY.createParser(ObjectReadContext.empty(), utf8));
  }

  /**
   * One member of an object; null when it has none of that name. What comes after it is not read,
   * so this is for text that was checked before.
   */
  public static Json member(byte[] utf8, String name) {
    return read(
        Parser.FACTORY.createParser(ObjectReadContext.empty(), utf8),
        parser -> {
          if (parser.nextToken() != JsonToken.START_OBJECT) {
            throw new AgentException.InvalidSpec("not JSON: an object is expected");
          }
          while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            boolean wanted = parser.currentName().equals(name);
            parser.nextToken();
            if (wanted) {
              return value(parser);
            }
            JsonParser _ = parser.skipChildren();
          }
          return Json.Null.INSTANCE;
        });
  }

  private static Json parse(JsonParser parser) {
    return read(
        parser,
        tokens -> {
          tokens.nextToken();
          Json value = value(tokens);
          if (tokens.nextToken() != null) {
            throw new AgentException.InvalidSpec("not JSON: there is more after the first value");
          }
          return value;
        });
  }

  private static Json read(JsonParser parser, Function<JsonParser, Json> reader) {
    try (parser) {
      return reader.apply(parser);
    } catch (JacksonException e) {
      var at = e.getLocation();
      throw new AgentException.InvalidSpec(
          "not JSON: line %d, column %d: %s"
              .formatted(
                  at == null ? 0 : at.getLineNr(),
                  at == null ? 0 : at.getColumnNr(),
                  e.getOriginalMessage()),
          e);
    } catch (NumberFormatException e) {
      // the parser finds out only when it is asked for the value
      throw new AgentException.InvalidSpec("not JSON: a number is out of range", e);
    }
  }

  private static Json value(JsonParser parser) {
    JsonToken token = parser.currentToken();
    if (token == null) {
      throw new AgentException.InvalidSpec("not JSON: the text is empty");
    }
    return switch (token) {
      case START_OBJECT -> {
        Map<String, Json> members = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
          String name = parser.currentName();
          parser.nextToken();
          members.put(name, value(parser));
        }
        yield new Json.Obj(members);
      }
      case START_ARRAY -> {
        var items = new ArrayList<Json>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          items.add(value(parser));
        }
        yield new Json.Arr(items);
      }
      case VALUE_STRING -> new Json.Str(parser.getString());
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new Json.Num(parser.getDecimalValue());
      case VALUE_TRUE -> new Json.Bool(true);
      case VALUE_FALSE -> new Json.Bool(false);
      default -> Json.Null.INSTANCE;
    };
  }

  /** On one line. */
  public static String print(Json json) {
    var text = new StringBuilder();
    write(json, text);
    return text.toString();
  }

  public static byte[] bytes(Json json) {
    return print(json).getBytes(StandardCharsets.UTF_8);
  }

  /** Indented by two, for people. */
  public static String pretty(Json json) {
    var text = new StringBuilder();
    pretty(json, "", text);
    return text.append('\n').toString();
  }

  private static void pretty(Json json, String indent, StringBuilder text) {
    String inner = indent + "  ";
    if (json instanceof Json.Obj(var members) && !members.isEmpty()) {
      String separator = "{\n";
      for (var member : members.entrySet()) {
        quote(member.getKey(), text.append(separator).append(inner));
        pretty(member.getValue(), inner, text.append(": "));
        separator = ",\n";
      }
      text.append('\n').append(indent).append('}');
    } else if (json instanceof Json.Arr(var items) && !items.isEmpty()) {
      String separator = "[\n";
      for (Json item : items) {
        pretty(item, inner, text.append(separator).append(inner));
        separator = ",\n";
      }
      text.append('\n').append(indent).append(']');
    } else {
      write(json, text);
    }
  }

  /** As {@link #print}, behind what is there. One test after the other, see {@link Json#of}. */
  public static void write(Json json, StringBuilder text) {
    if (json instanceof Json.Obj(var members)) {
      char separator = '{';
      for (var member : members.entrySet()) {
        quote(member.getKey(), text.append(separator));
        write(member.getValue(), text.append(':'));
        separator = ',';
      }
      text.append(members.isEmpty() ? "{}" : "}");
    } else if (json instanceof Json.Arr(var items)) {
      char separator = '[';
      for (Json item : items) {
        write(item, text.append(separator));
        separator = ',';
      }
      text.append(items.isEmpty() ? "[]" : "]");
    } else if (json instanceof Json.Str(var value)) {
      quote(value, text);
    } else if (json instanceof Json.Num(var value)) {
      text.append(value);
    } else if (json instanceof Json.Bool(var value)) {
      text.append(value);
    } else {
      text.append("null");
    }
  }

  /** A string as JSON. Most texts have nothing to escape and are copied as a whole. */
  public static void quote(String value, StringBuilder text) {
    text.append('"');
    int copied = 0;
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c < ' ' || c == '"' || c == '\\') {
        escape(c, text.append(value, copied, i));
        copied = i + 1;
      }
    }
    if (copied == 0) {
      text.append(value);
    } else {
      text.append(value, copied, value.length());
    }
    text.append('"');
  }

  private static void escape(char c, StringBuilder text) {
    switch (c) {
      case '"', '\\' -> text.append('\\').append(c);
      case '\n' -> text.append("\\n");
      case '\t' -> text.append("\\t");
      case '\r' -> text.append("\\r");
      case '\b' -> text.append("\\b");
      case '\f' -> text.append("\\f");
      default -> text.append("\\u00").append(HEX.charAt(c >> 4)).append(HEX.charAt(c & 15));
    }
  }
}

package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.io.InputStream;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/** Text to tree and back. Reading is bounded in depth and refuses duplicate members. */
public final class JsonText {
  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(64).build())
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .build();

  private JsonText() {}

  /** Throws {@link AgentException.InvalidSpec} with line and column for anything but one value. */
  public static Json parse(String text) {
    return parse(FACTORY.createParser(ObjectReadContext.empty(), text));
  }

  public static Json parse(byte[] utf8) {
    return parse(FACTORY.createParser(ObjectReadContext.empty(), utf8));
  }

  public static Json parse(InputStream utf8) {
    return parse(FACTORY.createParser(ObjectReadContext.empty(), utf8));
  }

  private static Json parse(JsonParser parser) {
    try (parser) {
      parser.nextToken();
      Json value = value(parser);
      if (parser.nextToken() != null) {
        throw new AgentException.InvalidSpec("not JSON: there is more after the first value");
      }
      return value;
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
    var text = new StringWriter();
    try (JsonGenerator out = FACTORY.createGenerator(ObjectWriteContext.empty(), text)) {
      write(json, out);
    }
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
    switch (json) {
      case Json.Obj(var members) when !members.isEmpty() -> {
        String separator = "{\n";
        for (var member : members.entrySet()) {
          text.append(separator).append(inner).append(print(new Json.Str(member.getKey())));
          pretty(member.getValue(), inner, text.append(": "));
          separator = ",\n";
        }
        text.append('\n').append(indent).append('}');
      }
      case Json.Arr(var items) when !items.isEmpty() -> {
        String separator = "[\n";
        for (Json item : items) {
          pretty(item, inner, text.append(separator).append(inner));
          separator = ",\n";
        }
        text.append('\n').append(indent).append(']');
      }
      default -> text.append(print(json));
    }
  }

  private static void write(Json json, JsonGenerator out) {
    switch (json) {
      case Json.Obj(var members) -> {
        out.writeStartObject();
        members.forEach(
            (name, value) -> {
              out.writeName(name);
              write(value, out);
            });
        out.writeEndObject();
      }
      case Json.Arr(var items) -> {
        out.writeStartArray();
        items.forEach(item -> write(item, out));
        out.writeEndArray();
      }
      case Json.Str(var value) -> out.writeString(value);
      case Json.Num(var value) -> out.writeNumber(value.toString());
      case Json.Bool(var value) -> out.writeBoolean(value);
      case Json.Null() -> out.writeNull();
    }
  }
}

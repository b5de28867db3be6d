package dev.zlayer.spec.read;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.bind.Shape;
import dev.zlayer.spec.bind.Shape.Block;
import dev.zlayer.spec.bind.Shape.Field;
import dev.zlayer.spec.bind.Shape.Union;
import dev.zlayer.spec.bind.Shapes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The deployment file as a JSON Schema (draft 2020-12), for editors: completion, texts on hover,
 * and the mistakes that can be seen without comparing values.
 */
public final class JsonSchema {
  private static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";

  private final Map<String, Json> definitions;
  private final String prefix;

  private JsonSchema(Map<String, Json> definitions, String prefix) {
    this.definitions = definitions;
    this.prefix = prefix;
  }

  /**
   * The schema of any record that is read like a deployment file; what it refers to is added to
   * {@code definitions}, where {@code prefix} finds it.
   */
  public static Json.Obj of(
      Class<? extends Record> type, Map<String, Json> definitions, String prefix) {
    return new JsonSchema(definitions, prefix).of(Shapes.block(type));
  }

  /** Indented text of the schema. */
  public static String generate() {
    var schema = new JsonSchema(new TreeMap<>(), "#/$defs/");
    Json.Obj root = schema.object(Shapes.block(DeploymentSpec.class), List.of());
    var members = new LinkedHashMap<String, Json>();
    members.put("$schema", new Json.Str(DIALECT));
    members.put("title", new Json.Str("zlayer deployment file"));
    members.putAll(root.members());
    members.put("$defs", new Json.Obj(schema.definitions));
    return JsonText.pretty(new Json.Obj(members));
  }

  private Json.Obj of(Shape shape) {
    return switch (shape) {
      case Shape.Text(var form) ->
          Json.object()
              .put("type", "string")
              .putIf("pattern", form.map(f -> whole(f.pattern())))
              .build();
      case Shape.Whole whole -> wholeNumber(whole);
      case Shape.Decimal _ ->
          Json.object().put("type", "number").put("exclusiveMinimum", 0).build();
      case Shape.Bool _ -> Json.object().put("type", "boolean").build();
      case Shape.Choice choice ->
          Json.object().put("enum", List.copyOf(choice.constants().keySet())).build();
      case Shape.Value value -> value(value);
      case Shape.ListOf(var item, boolean notEmpty) -> {
        var list = Json.object().put("type", "array").put("items", of(item));
        yield (notEmpty ? list.put("minItems", 1) : list).build();
      }
      case Shape.MapOf map -> map(map);
      case Block block -> define(block.type(), () -> block(block));
      case Union union -> define(union.type(), () -> union(union));
    };
  }

  private static Json.Obj wholeNumber(Shape.Whole whole) {
    var schema = Json.object().put("type", "integer");
    if (whole.min() != Long.MIN_VALUE) {
      schema.put("minimum", whole.min());
    }
    if (whole.max() != Long.MAX_VALUE) {
      schema.put("maximum", whole.max());
    }
    return schema.build();
  }

  private static Json.Obj value(Shape.Value value) {
    var form = value.form();
    var types = new ArrayList<String>(List.of("string"));
    if (form.number()) {
      types.add("number");
    }
    if (form.list()) {
      types.add("array");
    }
    var schema = Json.object().put("type", types.size() == 1 ? types.getFirst() : types);
    if (!form.pattern().isEmpty()) {
      schema.put("pattern", form.pattern());
    }
    if (form.list()) {
      schema.put("items", Json.object().put("type", "string").build()).put("minItems", 1);
    }
    return schema.put("examples", List.of(form.example())).build();
  }

  private Json.Obj map(Shape.MapOf map) {
    var schema = Json.object().put("type", "object");
    switch (map.key()) {
      case Shape.Text(var form) ->
          form.ifPresent(f -> schema.put("propertyNames", pattern(whole(f.pattern()))));
      case Shape.Value value -> schema.put("propertyNames", pattern(value.form().pattern()));
      default -> {}
    }
    return schema.put("additionalProperties", of(map.value())).build();
  }

  private Json.Obj block(Block block) {
    Json.Obj object = object(block, List.of());
    return block
        .shorthand()
        .map(
            bare -> {
              Shape shape =
                  block.fields().stream()
                      .filter(field -> field.name().equals(bare.key()))
                      .findFirst()
                      .orElseThrow()
                      .shape();
              return anyOf(List.of(of(shape), object));
            })
        .orElse(object);
  }

  /** A mapping with the keys of the block, and a tag with a fixed word in front if there is one. */
  private Json.Obj object(Block block, List<Map.Entry<String, Json>> tag) {
    var properties = new LinkedHashMap<String, Json>();
    var required = new ArrayList<String>();
    tag.forEach(
        entry -> {
          properties.put(entry.getKey(), entry.getValue());
          required.add(entry.getKey());
        });
    var conditions = new ArrayList<Json>();
    for (Field field : block.flatFields()) {
      if (field.inline() && field.shape() instanceof Union union) {
        addInlineUnion(union, properties, required, conditions);
        continue;
      }
      Json.Obj schema = described(field);
      properties.put(field.name(), schema);
      field.aliases().forEach(alias -> properties.put(alias, schema));
      if (field.required()) {
        required.add(field.name());
      }
    }
    var object = Json.object();
    if (!block.doc().isEmpty()) {
      object.put("description", block.doc());
    }
    object.put("type", "object").put("properties", new Json.Obj(properties));
    if (!required.isEmpty()) {
      object.put("required", required);
    }
    if (!conditions.isEmpty()) {
      object.put("allOf", conditions);
    }
    return object.put("additionalProperties", false).build();
  }

  private Json.Obj described(Field field) {
    var members = new LinkedHashMap<String, Json>();
    if (!field.doc().isEmpty()) {
      members.put("description", new Json.Str(field.doc() + defaultNote(field)));
    }
    members.putAll(of(field.shape()).members());
    return new Json.Obj(members);
  }

  private static String defaultNote(Field field) {
    return field
        .defaultText()
        .filter(text -> !text.startsWith("{"))
        .map(text -> " Default: " + text + ".")
        .orElse("");
  }

  /** The tag stands beside other keys; each word demands its own parameters. */
  private void addInlineUnion(
      Union union, Map<String, Json> properties, List<String> required, List<Json> conditions) {
    properties.put(
        union.by(),
        Json.object()
            .put("description", union.doc())
            .put("enum", List.copyOf(union.variants().keySet()))
            .build());
    properties.put(union.content(), Json.object().put("type", "object").build());
    required.add(union.by());
    union
        .variants()
        .forEach(
            (word, block) -> {
              boolean needed = block.flatFields().stream().anyMatch(Field::required);
              var then =
                  Json.object()
                      .put("properties", Json.object().put(union.content(), of(block)).build());
              conditions.add(
                  Json.object()
                      .put("if", tagged(union.by(), word))
                      .put(
                          "then",
                          (needed ? then.put("required", List.of(union.content())) : then).build())
                      .build());
            });
  }

  private static Json tagged(String key, String word) {
    return Json.object()
        .put("properties", Json.object().put(key, constant(word)).build())
        .put("required", List.of(key))
        .build();
  }

  private Json.Obj union(Union union) {
    var options = new ArrayList<Json>();
    union
        .variants()
        .forEach(
            (word, block) -> {
              if (!union.by().isEmpty()) {
                options.add(object(block, List.of(Map.entry(union.by(), constant(word)))));
              } else if (block.fields().isEmpty()) {
                options.add(constant(word));
              } else {
                options.add(
                    Json.object()
                        .put("type", "object")
                        .put("properties", Json.object().put(word, of(block)).build())
                        .put("required", List.of(word))
                        .put("additionalProperties", false)
                        .build());
              }
            });
    return Json.object().put("description", union.doc()).put("oneOf", options).build();
  }

  /** Puts the schema of a type among the definitions, once, and refers to it. */
  private Json.Obj define(Class<?> type, java.util.function.Supplier<Json> schema) {
    String name = name(type);
    if (!definitions.containsKey(name)) {
      definitions.put(name, Json.Null.INSTANCE);
      definitions.put(name, schema.get());
    }
    return Json.object().put("$ref", prefix + name).build();
  }

  /** Nested types carry the name of the outer one, so that names stay unique. */
  static String name(Class<?> type) {
    Class<?> outer = type.getDeclaringClass();
    return outer == null ? type.getSimpleName() : name(outer) + type.getSimpleName();
  }

  private static Json constant(String word) {
    return Json.object().put("const", word).build();
  }

  private static Json.Obj anyOf(List<Json> options) {
    return Json.object().put("anyOf", options).build();
  }

  private static Json pattern(String pattern) {
    return Json.object().put("pattern", pattern).build();
  }

  private static String whole(String pattern) {
    return "^(?:" + pattern + ")$";
  }
}

package dev.zlayer.daemon.rest.doc;

import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.json.Json;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What {@link ViewJson} makes of a type, as JSON Schema. */
final class ViewSchema {
  private final Map<String, Json> definitions;
  private final String prefix;

  ViewSchema(Map<String, Json> definitions, String prefix) {
    this.definitions = definitions;
    this.prefix = prefix;
  }

  Json.Obj of(Type type) {
    if (type instanceof ParameterizedType generic) {
      return generic((Class<?>) generic.getRawType(), generic.getActualTypeArguments());
    }
    return raw((Class<?>) type);
  }

  private Json.Obj generic(Class<?> raw, Type[] arguments) {
    if (raw == Optional.class) {
      return of(arguments[0]);
    }
    if (Collection.class.isAssignableFrom(raw)) {
      return Json.object().put("type", "array").put("items", of(arguments[0])).build();
    }
    if (Map.class.isAssignableFrom(raw)) {
      return Json.object()
          .put("type", "object")
          .put("additionalProperties", of(arguments[1]))
          .build();
    }
    return type("string");
  }

  private Json.Obj raw(Class<?> raw) {
    if (raw == int.class || raw == Integer.class || raw == long.class || raw == Long.class) {
      return type("integer");
    }
    if (raw == OptionalInt.class || raw == OptionalLong.class) {
      return type("integer");
    }
    if (raw == double.class || raw == Double.class || raw == OptionalDouble.class) {
      return type("number");
    }
    if (raw == boolean.class || raw == Boolean.class) {
      return type("boolean");
    }
    if (raw == Instant.class) {
      return Json.object().put("type", "string").put("format", "date-time").build();
    }
    if (raw == Duration.class) {
      return Json.object().put("type", "string").put("format", "duration").build();
    }
    if (Json.class.isAssignableFrom(raw)) {
      return Json.object().build();
    }
    if (raw.isEnum()) {
      return Json.object()
          .put(
              "enum",
              Arrays.stream(raw.getEnumConstants())
                  .map(constant -> ((Enum<?>) constant).name().toLowerCase(Locale.ROOT))
                  .toList())
          .build();
    }
    if (raw.isSealed() && raw.isInterface()) {
      return define(raw, () -> union(raw));
    }
    return raw.isRecord() && !ViewJson.isText(raw)
        ? define(raw, () -> object(raw, false))
        : type("string");
  }

  private Json.Obj union(Class<?> raw) {
    var options = new ArrayList<Json>();
    for (Class<?> variant : raw.getPermittedSubclasses()) {
      options.add(object(variant, true));
    }
    return Json.object().put("oneOf", options).build();
  }

  private Json.Obj object(Class<?> record, boolean tagged) {
    var properties = new LinkedHashMap<String, Json>();
    var required = new ArrayList<String>();
    if (tagged) {
      properties.put(
          "type", Json.object().put("const", ViewJson.snake(record.getSimpleName())).build());
      required.add("type");
    }
    for (RecordComponent component : record.getRecordComponents()) {
      String name = ViewJson.snake(component.getName());
      properties.put(name, of(component.getGenericType()));
      if (!optional(component.getType())) {
        required.add(name);
      }
    }
    return Json.object()
        .put("type", "object")
        .put("properties", new Json.Obj(properties))
        .put("required", required)
        .build();
  }

  private static boolean optional(Class<?> type) {
    return List.of(Optional.class, OptionalInt.class, OptionalLong.class, OptionalDouble.class)
        .contains(type);
  }

  private Json.Obj define(Class<?> type, java.util.function.Supplier<Json.Obj> schema) {
    String name = name(type);
    if (!definitions.containsKey(name)) {
      definitions.put(name, Json.Null.INSTANCE);
      definitions.put(name, schema.get());
    }
    return Json.object().put("$ref", prefix + name).build();
  }

  /** Views and what they show may share a simple name, so the outer one is part of it. */
  static String name(Class<?> type) {
    Class<?> outer = type.getDeclaringClass();
    return outer == null
        ? type.getSimpleName()
        : name(outer).replaceAll("Resource$", "") + type.getSimpleName();
  }

  private static Json.Obj type(String name) {
    return Json.object().put("type", name).build();
  }
}

package dev.zlayer.daemon.rest;

import dev.zlayer.json.Json;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The types of what the agent answers, for the page of the dashboard: {@code tools/check-web}
 * checks its scripts against them.
 */
final class ApiTypes {
  private static final String PREFIX = "/api/v1";
  private static final String REFERENCE = "#/components/schemas/";

  private ApiTypes() {}

  static String of(Json document) {
    var out = new StringBuilder("// Made by ApiDescriptionTest from the routes of the agent.\n");
    new TreeMap<>(document.at("components").at("schemas").members())
        .forEach(
            (name, schema) -> out.append("export type %s = %s;%n".formatted(name, type(schema))));
    out.append("/** What a path is answered with; the more specific ones first. */\n");
    out.append("export type Answer<P> =\n");
    document.at("paths").members().entrySet().stream()
        .filter(path -> !answer(path.getValue()).isEmpty())
        .sorted(
            Comparator.comparing((Map.Entry<String, Json> path) -> -segments(path.getKey()))
                .thenComparing(path -> path.getKey().indexOf('{') >= 0)
                .thenComparing(Map.Entry::getKey))
        .forEach(
            path -> {
              String pattern =
                  path.getKey().substring(PREFIX.length()).replaceAll("\\{[^}]*}", "\\${string}");
              out.append(
                  "  P extends `%1$s` | `%1$s?${string}` ? %2$s :%n"
                      .formatted(pattern, answer(path.getValue())));
            });
    return out.append("  any;\n").toString();
  }

  private static long segments(String path) {
    return path.chars().filter(letter -> letter == '/').count();
  }

  /** Of GET, when it is JSON. */
  private static String answer(Json operations) {
    Json content = operations.at("get").at("responses").at("200").at("content");
    Json schema = content.at("application/json").at("schema");
    return schema.members().isEmpty()
            || schema.at("type").string().filter("string"::equals).isPresent()
        ? ""
        : type(schema);
  }

  private static String type(Json schema) {
    if (schema.at("$ref").string().isPresent()) {
      return schema.at("$ref").string().orElseThrow().substring(REFERENCE.length());
    }
    if (schema.at("const").string().isPresent()) {
      return quoted(schema.at("const"));
    }
    if (!schema.at("enum").items().isEmpty()) {
      return union(schema.at("enum").items().stream().map(ApiTypes::quoted).toList());
    }
    if (!schema.at("oneOf").items().isEmpty()) {
      return union(schema.at("oneOf").items().stream().map(ApiTypes::type).toList());
    }
    return switch (schema.at("type").string().orElse("")) {
      case "integer", "number" -> "number";
      case "boolean" -> "boolean";
      case "string" -> "string";
      case "array" -> "(" + type(schema.at("items")) + ")[]";
      case "object" -> object(schema);
      default -> "any";
    };
  }

  private static String object(Json schema) {
    if (schema.at("properties").members().isEmpty()) {
      return "{ [name: string]: " + type(schema.at("additionalProperties")) + " }";
    }
    List<String> required = schema.at("required").strings();
    return schema.at("properties").members().entrySet().stream()
        .map(
            property ->
                "%s%s: %s"
                    .formatted(
                        property.getKey(),
                        required.contains(property.getKey()) ? "" : "?",
                        type(property.getValue())))
        .collect(Collectors.joining("; ", "{ ", " }"));
  }

  private static String union(List<String> types) {
    return types.stream().distinct().collect(Collectors.joining(" | "));
  }

  private static String quoted(Json text) {
    return "\"" + text.string().orElseThrow() + "\"";
  }
}

package dev.zlayer.spec.source;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.yaml.YamlNode;

/** Writes a tree as text; numbers and booleans as they were written, all other text quoted. */
final class YamlWriter {
  private static final String STEP = "  ";

  private final StringBuilder out = new StringBuilder();

  private YamlWriter() {}

  static String write(YamlNode root) {
    var writer = new YamlWriter();
    writer.node(root, "");
    return writer.out.toString();
  }

  private void node(YamlNode node, String indent) {
    switch (node) {
      case YamlNode.Mapping mapping when !mapping.members().isEmpty() ->
          mapping
              .entries()
              .forEach(
                  entry -> {
                    out.append(indent).append(text(entry.key())).append(':');
                    value(entry.value(), indent + STEP);
                  });
      case YamlNode.Sequence(_, var items) when !items.isEmpty() ->
          items.forEach(
              item -> {
                out.append(indent).append('-');
                value(item, indent + STEP);
              });
      default -> out.append(indent).append(text(node)).append('\n');
    }
  }

  private void value(YamlNode node, String indent) {
    boolean block =
        switch (node) {
          case YamlNode.Mapping mapping -> !mapping.members().isEmpty();
          case YamlNode.Sequence(_, var items) -> !items.isEmpty();
          case YamlNode.Scalar _ -> false;
        };
    if (block) {
      out.append('\n');
      node(node, indent);
    } else {
      out.append(' ').append(text(node)).append('\n');
    }
  }

  private static String text(YamlNode node) {
    return switch (node) {
      case YamlNode.Mapping _ -> "{}";
      case YamlNode.Sequence _ -> "[]";
      case YamlNode.Scalar scalar ->
          switch (scalar.scalarKind()) {
            case NULL -> "null";
            case BOOLEAN, INTEGER, DECIMAL -> scalar.text();
            case TEXT -> JsonText.print(Json.of(scalar.text()));
          };
    };
  }
}

package dev.zlayer.daemon.config;

import dev.zlayer.spec.bind.Shape;

/** The configuration as a table for people. */
public final class ConfigReference {
  private ConfigReference() {}

  public static String markdown() {
    var text = new StringBuilder("| key | value | default | meaning |\n|---|---|---|---|\n");
    for (Shape.Field field : ConfigReader.fields()) {
      text.append(
          "| `%s` | %s | %s | %s |\n"
              .formatted(
                  field.name(),
                  field.shape().describe().replaceFirst("^an? ", ""),
                  field.defaultText().map(value -> "`" + value + "`").orElse(""),
                  field.doc()));
    }
    return text.toString();
  }
}

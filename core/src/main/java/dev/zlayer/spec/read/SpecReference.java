package dev.zlayer.spec.read;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.bind.Shape;
import dev.zlayer.spec.bind.Shape.Block;
import dev.zlayer.spec.bind.Shape.Field;
import dev.zlayer.spec.bind.Shape.Union;
import dev.zlayer.spec.bind.Shapes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Set;

/** The reference of the deployment file as Markdown, one section per block. */
public final class SpecReference {
  private static final String INTRODUCTION =
      """
      # The deployment file

      Generated from the records in `core`, package `dev.zlayer.spec`; do not edit. Regenerate with
      `mvn -B -pl core test -Dtest=SpecReferenceTest -Dregenerate=true`.

      A deployment is one YAML file named `*.zlayer.yml`, encoded as UTF-8, of at most 1 MiB.
      `zlayer validate FILE` reports all problems at once, `zlayer spec schema` prints a JSON Schema for
      editors. Unknown and repeated keys are refused. Anchors, aliases and `<<` merges work; tags do
      not, except `!pin` of `affinity`. An explicit `null` is the same as leaving the key out.

      ## Values

      | what | how it is written |
      |---|---|
      | text | as it is; numbers and booleans need quotes: `"8080"` |
      | duration | `1m 30s`, `2h37min`, `250ms`, or a number of seconds; units ns us ms s m h d w M y |
      | size | `512Mi`, `1.5GiB` (powers of 1024), `500M`, `2GB` (powers of 1000), or a number of bytes |
      | cron expression | `0 3 * * *`, or with seconds first `0 0 3 * * ?`, or `@daily`, `@every 10m` |
      | image reference | `[host[:port]/]name[:tag][@digest]` |
      | reference in `env` | `$E:NAME` a variable of the agent, `$S:name` a secret, `$S:name/field` a field of \
      it, `$S:@service/name` a secret of a service; inside a longer text `${E:NAME}` and `${S:name}`; \
      one more dollar sign takes the meaning away |

      Keys marked *not acted on* are read and checked, but nothing uses them yet; a file
      that has them is refused.

      """;

  private static final Set<String> IGNORED = UnsupportedKeys.fields();

  private final StringBuilder text = new StringBuilder(INTRODUCTION);
  private final Set<Class<?>> seen = new LinkedHashSet<>();
  private final Deque<Shape> waiting = new ArrayDeque<>();

  private SpecReference() {}

  public static String markdown() {
    var reference = new SpecReference();
    reference.link(Shapes.of(DeploymentSpec.class));
    while (!reference.waiting.isEmpty()) {
      switch (reference.waiting.removeFirst()) {
        case Block block -> reference.section(block);
        case Union union -> reference.section(union);
        default -> {}
      }
    }
    return reference.text.toString();
  }

  private void section(Block block) {
    heading(JsonSchema.name(block.type()), block.doc());
    block
        .shorthand()
        .ifPresent(
            bare ->
                line(
                    "Instead of the block one may write just %s: `%s`."
                        .formatted(bare.as(), bare.key())));
    table(block);
  }

  private void section(Union union) {
    heading(JsonSchema.name(union.type()), union.doc());
    union
        .variants()
        .forEach(
            (word, block) -> {
              if (union.by().isEmpty()) {
                line("`%s`: %s".formatted(word, block.doc()));
              } else {
                line("`%s: %s` - %s".formatted(union.by(), word, block.doc()));
              }
              if (!block.fields().isEmpty()) {
                table(block);
              }
            });
  }

  private void table(Block block) {
    text.append("| key | value | default | meaning |\n|---|---|---|---|\n");
    for (Field field : block.flatFields()) {
      if (field.inline() && field.shape() instanceof Union union) {
        text.append(
            "| `%s`, `%s` | %s | required | %s |\n"
                .formatted(union.by(), union.content(), link(union), field.doc()));
        continue;
      }
      String aliases =
          field.aliases().isEmpty()
              ? ""
              : " (or `%s`)".formatted(String.join("`, `", field.aliases()));
      text.append(
          "| `%s`%s | %s | %s | %s%s |\n"
              .formatted(
                  field.name(),
                  aliases,
                  typeOf(field.shape()),
                  defaultOf(field),
                  cell(field.doc()),
                  mark(block, field)));
    }
    text.append('\n');
  }

  private static String cell(String doc) {
    return doc.replace("|", "\\|");
  }

  private static String mark(Block block, Field field) {
    boolean ignored = IGNORED.contains(UnsupportedKeys.field(block, field.name()));
    return ignored ? " *Not acted on.*" : "";
  }

  private static String defaultOf(Field field) {
    if (field.required()) {
      return "required";
    }
    return field
        .defaultText()
        .filter(standard -> !standard.equals("{}"))
        .map(standard -> "`" + standard + "`")
        .orElse("");
  }

  private String typeOf(Shape shape) {
    return switch (shape) {
      case Shape.ListOf(var item, _) -> "list of " + typeOf(item);
      case Shape.MapOf map -> "map of " + typeOf(map.value());
      case Shape.Choice choice -> "`" + String.join("`, `", choice.words()) + "`";
      case Block block -> link(block);
      case Union union -> link(union);
      case Shape.Text _, Shape.Whole _, Shape.Decimal _, Shape.Bool _, Shape.Value _ ->
          shape.describe().replaceFirst("^an? ", "");
    };
  }

  private String link(Shape shape) {
    Class<?> type =
        switch (shape) {
          case Block block -> block.type();
          case Union union -> union.type();
          default -> throw new IllegalArgumentException(shape.describe());
        };
    if (seen.add(type)) {
      waiting.addLast(shape);
    }
    String name = JsonSchema.name(type);
    return "[%s](#%s)".formatted(name, name.toLowerCase(Locale.ROOT));
  }

  private void heading(String title, String doc) {
    line("## " + title);
    if (!doc.isEmpty()) {
      line(doc);
    }
  }

  private void line(String line) {
    text.append(line).append("\n\n");
  }
}

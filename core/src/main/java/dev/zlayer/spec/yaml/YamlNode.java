package dev.zlayer.spec.yaml;

import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.SpecPath;
import java.math.BigInteger;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** A YAML value with its place in the text. Aliases and merges are already expanded. */
public sealed interface YamlNode {
  Position position();

  /** "a number", "a list" ...: for problems that say what was found. */
  String kind();

  /** How the YAML 1.2 core schema reads a scalar. */
  enum ScalarKind {
    NULL,
    BOOLEAN,
    INTEGER,
    DECIMAL,
    TEXT
  }

  record Scalar(Position position, String text, ScalarKind scalarKind) implements YamlNode {
    private static final Pattern NULL = Pattern.compile("~|null|Null|NULL|");
    private static final Pattern BOOLEAN = Pattern.compile("true|True|TRUE|false|False|FALSE");
    private static final Pattern INTEGER = Pattern.compile("[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+");
    private static final Pattern DECIMAL =
        Pattern.compile("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
    private static final Pattern NOT_FINITE =
        Pattern.compile("[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN)");

    public static Scalar plain(Position position, String text) {
      return new Scalar(position, text, kindOf(text));
    }

    static Scalar quoted(Position position, String text) {
      return new Scalar(position, text, ScalarKind.TEXT);
    }

    /** The same place with another text, which is read as if it had been written so. */
    public Scalar replaced(String text) {
      return text.isEmpty() ? quoted(position, text) : plain(position, text);
    }

    private static ScalarKind kindOf(String text) {
      if (NULL.matcher(text).matches()) {
        return ScalarKind.NULL;
      }
      if (BOOLEAN.matcher(text).matches()) {
        return ScalarKind.BOOLEAN;
      }
      if (INTEGER.matcher(text).matches()) {
        return ScalarKind.INTEGER;
      }
      boolean decimal = DECIMAL.matcher(text).matches() || NOT_FINITE.matcher(text).matches();
      return decimal ? ScalarKind.DECIMAL : ScalarKind.TEXT;
    }

    /** The value of a scalar of kind INTEGER, of any size. */
    public BigInteger integer() {
      if (text.startsWith("0o")) {
        return new BigInteger(text.substring(2), 8);
      }
      if (text.startsWith("0x")) {
        return new BigInteger(text.substring(2), 16);
      }
      return new BigInteger(text);
    }

    /** The value of a scalar of kind BOOLEAN. */
    public boolean bool() {
      return text.equalsIgnoreCase("true");
    }

    @Override
    public String kind() {
      return switch (scalarKind) {
        case NULL -> "nothing";
        case BOOLEAN -> "a boolean";
        case INTEGER, DECIMAL -> "a number";
        case TEXT -> "text";
      };
    }
  }

  record Sequence(Position position, List<YamlNode> items) implements YamlNode {
    @Override
    public String kind() {
      return "a list";
    }
  }

  /** Entries by key, in the order they were written. */
  record Mapping(Position position, Map<String, Entry> members) implements YamlNode {
    public Mapping {
      members = Collections.unmodifiableMap(new LinkedHashMap<>(members));
    }

    public Collection<Entry> entries() {
      return members.values();
    }

    @Override
    public String kind() {
      return "a mapping";
    }

    public Optional<Entry> find(String key) {
      return Optional.ofNullable(members.get(key));
    }
  }

  record Entry(Scalar key, YamlNode value) {}

  default boolean isNull() {
    return this instanceof Scalar scalar && scalar.scalarKind() == ScalarKind.NULL;
  }

  /** Whether there is a value other than null at {@code path}. */
  default boolean holds(SpecPath path) {
    YamlNode node = this;
    for (SpecPath.Step step : path.steps()) {
      Optional<YamlNode> next = node.child(step);
      if (next.isEmpty()) {
        return false;
      }
      node = next.get();
    }
    return !node.isNull();
  }

  private Optional<YamlNode> child(SpecPath.Step step) {
    return switch (step) {
      case SpecPath.Key(String name) ->
          this instanceof Mapping mapping ? mapping.find(name).map(Entry::value) : Optional.empty();
      case SpecPath.Index(int number) ->
          this instanceof Sequence(_, var items) && number < items.size()
              ? Optional.of(items.get(number))
              : Optional.empty();
    };
  }

  /** The place of the value at {@code path}, or of the last key on the way that is written. */
  default Position locate(SpecPath path) {
    YamlNode node = this;
    Position best = node.position();
    for (SpecPath.Step step : path.steps()) {
      Optional<YamlNode> next = node.child(step);
      if (next.isEmpty()) {
        return best;
      }
      best = placeOf(node, step, next.get());
      node = next.get();
    }
    boolean single = node instanceof Scalar scalar && !scalar.text().isEmpty();
    return single ? node.position() : best;
  }

  /** The key that leads to a value, or the value itself in a list. */
  private static Position placeOf(YamlNode parent, SpecPath.Step step, YamlNode value) {
    return step instanceof SpecPath.Key(String name) && parent instanceof Mapping mapping
        ? mapping.find(name).map(entry -> entry.key().position()).orElse(value.position())
        : value.position();
  }
}

package dev.zlayer.spec.bind;

import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The source of the class that takes the place of {@link ShapeFacts} in a distribution: what the
 * annotations of some records say, and of all types in them, and how the records are made.
 */
public final class ShapeSource {
  private final Map<String, Marks> marks = new LinkedHashMap<>();
  private final Set<Class<?>> seen = new LinkedHashSet<>();

  private ShapeSource() {}

  public static String of(Class<?> root) {
    var source = new ShapeSource();
    source.type(root);
    return source.print();
  }

  private void type(Type type) {
    if (type instanceof ParameterizedType generic) {
      Arrays.stream(generic.getActualTypeArguments()).forEach(this::type);
    } else if (type instanceof Class<?> plain
        && !plain.isPrimitive()
        && !plain.getName().startsWith("java.")
        && seen.add(plain)) {
      add(plain);
    }
  }

  private void add(Class<?> type) {
    Marks own = Marks.of(type);
    marks.put(type.getName(), own);
    if (own.form().isPresent()) {
      return;
    }
    if (type.isRecord()) {
      for (RecordComponent component : type.getRecordComponents()) {
        marks.put(type.getName() + "#" + component.getName(), Marks.of(component));
        type(component.getGenericType());
      }
    } else if (type.isEnum()) {
      for (Object constant : type.getEnumConstants()) {
        String name = ((Enum<?>) constant).name();
        marks.put(type.getName() + "#" + name, Marks.of(type, name));
      }
    } else if (own.tag().isPresent()) {
      Arrays.stream(type.getPermittedSubclasses()).forEach(this::type);
    }
  }

  private String print() {
    var source = new StringBuilder();
    source.append("package dev.zlayer.spec.bind;\n\n");
    source.append("import java.util.List;\nimport java.util.Optional;\n\n");
    source.append("/** Made when the distribution was built. */\n");
    source.append("final class ShapeFacts {\n  private ShapeFacts() {}\n\n");
    source.append("  static Marks marks(String key) {\n    return switch (key) {\n");
    marks.forEach(
        (key, value) ->
            source.append("      case %s -> %s;\n".formatted(literal(key), made(value))));
    source.append("      default -> null;\n    };\n  }\n\n");
    source.append("  @SuppressWarnings(\"unchecked\")\n");
    source.append("  static Object make(Class<?> type, Object[] values) {\n");
    for (Class<?> type : seen) {
      if (type.isRecord() && Marks.of(type).form().isEmpty() && open(type)) {
        source.append(
            "    if (type == %s.class) {\n      return %s;\n    }\n"
                .formatted(type.getCanonicalName(), constructed(type)));
      }
    }
    return source.append("    return null;\n  }\n}\n").toString();
  }

  /** Whether other packages may make it, and name the types of all its components. */
  private static boolean open(Class<?> type) {
    try {
      return accessible(type)
          && Modifier.isPublic(
              type.getDeclaredConstructor(
                      Arrays.stream(type.getRecordComponents())
                          .map(RecordComponent::getType)
                          .toArray(Class<?>[]::new))
                  .getModifiers())
          && Arrays.stream(type.getRecordComponents())
              .allMatch(component -> accessible(component.getType()));
    } catch (NoSuchMethodException _) {
      return false;
    }
  }

  private static boolean accessible(Class<?> type) {
    Class<?> around = type.getDeclaringClass();
    return type.isPrimitive()
        || (Modifier.isPublic(type.getModifiers()) && (around == null || accessible(around)));
  }

  private static String constructed(Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    var arguments = new StringBuilder();
    for (int i = 0; i < components.length; i++) {
      arguments
          .append(i == 0 ? "" : ", ")
          .append("(%s) values[%d]".formatted(components[i].getType().getCanonicalName(), i));
    }
    return "new %s(%s)".formatted(type.getCanonicalName(), arguments);
  }

  private static String made(Marks marks) {
    return "new Marks(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        .formatted(
            literal(marks.doc()),
            optional(marks.word().map(ShapeSource::literal)),
            marks.aliases().stream()
                .map(ShapeSource::literal)
                .collect(Collectors.joining(", ", "List.of(", ")")),
            optional(marks.defaultText().map(ShapeSource::literal)),
            marks.inline(),
            marks.notEmpty(),
            number(marks.min()),
            number(marks.max()),
            optional(marks.text().map(ShapeSource::form)),
            optional(marks.keys().map(ShapeSource::form)),
            optional(
                marks
                    .shorthand()
                    .map(it -> made("Shape.Bare", literal(it.key()), literal(it.as())))),
            optional(
                marks.tag().map(it -> made("Marks.Tag", literal(it.by()), literal(it.content())))),
            optional(marks.form().map(ShapeSource::written)));
  }

  private static String written(Marks.Written form) {
    return made(
        "Marks.Written",
        literal(form.is()),
        literal(form.example()),
        literal(form.pattern()),
        String.valueOf(form.number()),
        String.valueOf(form.list()));
  }

  private static String form(Shape.Form form) {
    return made("Shape.Form", literal(form.pattern()), literal(form.write()));
  }

  private static String made(String type, String... arguments) {
    return "new " + type + "(" + String.join(", ", arguments) + ")";
  }

  private static String optional(Optional<String> value) {
    return value.map(present -> "Optional.of(" + present + ")").orElse("Optional.empty()");
  }

  private static String number(long value) {
    return value == Long.MIN_VALUE ? "Long.MIN_VALUE" : value + "L";
  }

  private static String literal(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }
}

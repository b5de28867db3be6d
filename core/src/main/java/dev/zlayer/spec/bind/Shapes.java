package dev.zlayer.spec.bind;

import dev.zlayer.error.AgentException;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** Derives shapes from types by reflection, each once. */
public final class Shapes {
  private static final Map<Class<?>, Shape> KNOWN = new ConcurrentHashMap<>();

  private Shapes() {}

  /** The shape of a record, sealed interface, enum or text type. */
  public static Shape of(Class<?> type) {
    Shape known = KNOWN.get(type);
    if (known == null) {
      known = derive(type);
      KNOWN.put(type, known);
    }
    return known;
  }

  /** The shape of a record. */
  public static Shape.Block block(Class<?> type) {
    return (Shape.Block) of(type);
  }

  private static Shape derive(Class<?> type) {
    Optional<ValueForm> form = Values.find(type);
    if (form.isPresent()) {
      return new Shape.Value(type, form.get());
    }
    if (type.isEnum()) {
      return choice(type);
    }
    if (type.isRecord()) {
      return deriveBlock(type);
    }
    Marks marks = Marks.of(type);
    if (marks.tag().isPresent()) {
      var variants = new LinkedHashMap<String, Shape.Block>();
      for (Class<?> variant : type.getPermittedSubclasses()) {
        variants.put(word(Marks.of(variant), variant.getSimpleName()), block(variant));
      }
      Marks.Tag tag = marks.tag().get();
      return new Shape.Union(type, marks.doc(), tag.by(), tag.content(), variants);
    }
    throw new AgentException.Internal(type + " cannot be written in a deployment file", null);
  }

  private static Shape.Block deriveBlock(Class<?> type) {
    var fields = new ArrayList<Shape.Field>();
    for (RecordComponent component : type.getRecordComponents()) {
      fields.add(field(component));
    }
    Marks marks = Marks.of(type);
    return new Shape.Block(
        type, marks.doc(), List.copyOf(fields), flat(fields), marks.shorthand(), constructor(type));
  }

  private static List<Shape.Field> flat(List<Shape.Field> fields) {
    return fields.stream()
        .flatMap(
            field ->
                field.inline() && field.shape() instanceof Shape.Block inner
                    ? inner.flatFields().stream()
                    : Stream.of(field))
        .toList();
  }

  private static Constructor<?> constructor(Class<?> type) {
    Class<?>[] types =
        Arrays.stream(type.getRecordComponents())
            .map(RecordComponent::getType)
            .toArray(Class<?>[]::new);
    try {
      return type.getDeclaredConstructor(types);
    } catch (NoSuchMethodException e) {
      throw new AgentException.Internal(type + " has no canonical constructor", e);
    }
  }

  private static Shape.Field field(RecordComponent component) {
    Type type = component.getGenericType();
    boolean optional = component.getType() == Optional.class;
    Marks marks = Marks.of(component);
    Shape shape = of(optional ? argument(type, 0) : type, marks);
    return new Shape.Field(
        word(marks, component.getName()),
        marks.aliases(),
        shape,
        marks.inline(),
        optional,
        marks.defaultText(),
        marks.defaultText().map(text -> Placeholders.made(shape, text)),
        marks.doc());
  }

  private static Shape of(Type type, Marks marks) {
    if (type instanceof ParameterizedType generic) {
      if (generic.getRawType() == List.class) {
        return new Shape.ListOf(of(argument(type, 0), marks), marks.notEmpty());
      }
      Shape key =
          argument(type, 0) == String.class
              ? new Shape.Text(marks.keys())
              : of((Class<?>) argument(type, 0));
      return new Shape.MapOf(key, of(argument(type, 1), marks), marks.notEmpty());
    }
    Class<?> plain = (Class<?>) type;
    if (plain == String.class) {
      return new Shape.Text(marks.text());
    }
    if (plain == boolean.class || plain == Boolean.class) {
      return new Shape.Bool();
    }
    if (plain == double.class || plain == Double.class) {
      return new Shape.Decimal();
    }
    return isWhole(plain) ? whole(plain, marks) : of(plain);
  }

  private static boolean isWhole(Class<?> type) {
    return type == int.class || type == Integer.class || type == long.class || type == Long.class;
  }

  private static Shape whole(Class<?> type, Marks marks) {
    boolean narrow = type == int.class || type == Integer.class;
    return new Shape.Whole(
        narrow ? Math.max(marks.min(), Integer.MIN_VALUE) : marks.min(),
        narrow ? Math.min(marks.max(), Integer.MAX_VALUE) : marks.max(),
        narrow ? Integer.class : Long.class);
  }

  private static Shape choice(Class<?> type) {
    var constants = new LinkedHashMap<String, Object>();
    var words = new ArrayList<String>();
    for (Object constant : type.getEnumConstants()) {
      String name = ((Enum<?>) constant).name();
      Marks marks = Marks.of(type, name);
      words.add(word(marks, name));
      constants.put(word(marks, name), constant);
      for (String alias : marks.aliases()) {
        constants.put(alias, constant);
      }
    }
    return new Shape.Choice(constants, words);
  }

  private static Type argument(Type type, int index) {
    return ((ParameterizedType) type).getActualTypeArguments()[index];
  }

  /** The annotated word, else the Java name in snake_case. */
  private static String word(Marks marks, String javaName) {
    return marks.word().orElseGet(() -> snake(javaName));
  }

  private static String snake(String javaName) {
    var word = new StringBuilder(javaName.length() + 4);
    for (int i = 0; i < javaName.length(); i++) {
      char c = javaName.charAt(i);
      boolean capital = c >= 'A' && c <= 'Z';
      if (capital && i > 0 && ends(javaName.charAt(i - 1))) {
        word.append('_');
      }
      word.append(c);
    }
    return word.toString().toLowerCase(Locale.ROOT);
  }

  /** Whether a word may end with it when a capital follows. */
  private static boolean ends(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  }
}

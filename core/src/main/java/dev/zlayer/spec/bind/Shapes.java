package dev.zlayer.spec.bind;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Keys;
import dev.zlayer.spec.form.Named;
import dev.zlayer.spec.form.NotEmpty;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.form.Tagged;
import dev.zlayer.spec.form.Text;
import java.lang.reflect.AnnotatedElement;
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
    Tagged tagged = type.getAnnotation(Tagged.class);
    if (tagged != null) {
      var variants = new LinkedHashMap<String, Shape.Block>();
      for (Class<?> variant : type.getPermittedSubclasses()) {
        variants.put(word(variant, variant.getSimpleName()), block(variant));
      }
      return new Shape.Union(type, doc(type), tagged.by(), tagged.content(), variants);
    }
    throw new AgentException.Internal(type + " cannot be written in a deployment file", null);
  }

  private static Shape.Block deriveBlock(Class<?> type) {
    var fields = new ArrayList<Shape.Field>();
    for (RecordComponent component : type.getRecordComponents()) {
      fields.add(field(component));
    }
    Shorthand shorthand = type.getAnnotation(Shorthand.class);
    return new Shape.Block(
        type,
        doc(type),
        List.copyOf(fields),
        flat(fields),
        shorthand == null
            ? Optional.empty()
            : Optional.of(new Shape.Bare(shorthand.value(), shorthand.as())),
        constructor(type));
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
    Shape shape = of(optional ? argument(type, 0) : type, component);
    Optional<String> defaultText =
        Optional.ofNullable(component.getAnnotation(Default.class)).map(Default::value);
    Named named = component.getAnnotation(Named.class);
    return new Shape.Field(
        word(component, component.getName()),
        named == null ? List.of() : List.of(named.alias()),
        shape,
        component.isAnnotationPresent(Inline.class),
        optional,
        defaultText,
        defaultText.map(text -> Placeholders.made(shape, text)),
        doc(component));
  }

  private static Shape of(Type type, RecordComponent component) {
    boolean notEmpty = component.isAnnotationPresent(NotEmpty.class);
    if (type instanceof ParameterizedType generic) {
      if (generic.getRawType() == List.class) {
        return new Shape.ListOf(of(argument(type, 0), component), notEmpty);
      }
      Keys keys = component.getAnnotation(Keys.class);
      Shape key =
          argument(type, 0) == String.class
              ? new Shape.Text(
                  keys == null
                      ? Optional.empty()
                      : Optional.of(new Shape.Form(keys.pattern(), keys.write())))
              : of((Class<?>) argument(type, 0));
      return new Shape.MapOf(key, of(argument(type, 1), component), notEmpty);
    }
    Class<?> plain = (Class<?>) type;
    if (plain == String.class) {
      Text text = component.getAnnotation(Text.class);
      return new Shape.Text(
          text == null
              ? Optional.empty()
              : Optional.of(new Shape.Form(text.pattern(), text.write())));
    }
    if (plain == boolean.class || plain == Boolean.class) {
      return new Shape.Bool();
    }
    if (plain == double.class || plain == Double.class) {
      return new Shape.Decimal();
    }
    return isWhole(plain) ? whole(plain, component) : of(plain);
  }

  private static boolean isWhole(Class<?> type) {
    return type == int.class || type == Integer.class || type == long.class || type == Long.class;
  }

  private static Shape whole(Class<?> type, RecordComponent component) {
    boolean narrow = type == int.class || type == Integer.class;
    Range range = component.getAnnotation(Range.class);
    long min = range == null ? Long.MIN_VALUE : range.min();
    long max = range == null ? Long.MAX_VALUE : range.max();
    return new Shape.Whole(
        narrow ? Math.max(min, Integer.MIN_VALUE) : min,
        narrow ? Math.min(max, Integer.MAX_VALUE) : max,
        narrow ? Integer.class : Long.class);
  }

  private static Shape choice(Class<?> type) {
    var constants = new LinkedHashMap<String, Object>();
    var words = new ArrayList<String>();
    for (Object constant : type.getEnumConstants()) {
      String name = ((Enum<?>) constant).name();
      AnnotatedElement declared = constantField(type, name);
      words.add(word(declared, name));
      constants.put(word(declared, name), constant);
      Named named = declared.getAnnotation(Named.class);
      for (String alias : named == null ? new String[0] : named.alias()) {
        constants.put(alias, constant);
      }
    }
    return new Shape.Choice(constants, words);
  }

  private static AnnotatedElement constantField(Class<?> type, String name) {
    try {
      return type.getField(name);
    } catch (NoSuchFieldException e) {
      throw new AgentException.Internal("no constant " + name + " in " + type, e);
    }
  }

  private static Type argument(Type type, int index) {
    return ((ParameterizedType) type).getActualTypeArguments()[index];
  }

  private static String doc(AnnotatedElement element) {
    Doc doc = element.getAnnotation(Doc.class);
    return doc == null ? "" : doc.value();
  }

  /** The annotated word, else the Java name in snake_case. */
  private static String word(AnnotatedElement element, String javaName) {
    Named named = element.getAnnotation(Named.class);
    if (named != null && !named.value().isEmpty()) {
      return named.value();
    }
    String separated = javaName.replaceAll("([a-z0-9])([A-Z])", "$1_$2");
    return separated.toLowerCase(Locale.ROOT);
  }
}

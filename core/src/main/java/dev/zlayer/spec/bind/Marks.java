package dev.zlayer.spec.bind;

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
import dev.zlayer.spec.form.TextForm;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the annotations of a type, of a component of a record or of a constant say.
 *
 * @param word the word in a file; absent for the Java name
 * @param min the smallest number allowed
 * @param text the form of a text
 * @param keys the form of the keys of a map
 * @param shorthand the component that a bare value stands for
 * @param tag how one of several records is chosen
 * @param form how it is written as one text
 */
record Marks(
    String doc,
    Optional<String> word,
    List<String> aliases,
    Optional<String> defaultText,
    boolean inline,
    boolean notEmpty,
    long min,
    long max,
    Optional<Shape.Form> text,
    Optional<Shape.Form> keys,
    Optional<Shape.Bare> shorthand,
    Optional<Tag> tag,
    Optional<Written> form) {
  Marks {
    aliases = List.copyOf(aliases);
  }

  /** By which key one of several is chosen, and in which its keys are. */
  record Tag(String by, String content) {}

  /** As {@link TextForm} says it. */
  record Written(String is, String example, String pattern, boolean number, boolean list) {}

  static Marks of(Class<?> type) {
    return of(type.getName(), type);
  }

  static Marks of(RecordComponent component) {
    return of(component.getDeclaringRecord().getName() + "#" + component.getName(), component);
  }

  /** Of a constant of an enum. */
  static Marks of(Class<?> type, String constant) {
    try {
      return of(type.getName() + "#" + constant, type.getField(constant));
    } catch (NoSuchFieldException e) {
      throw new dev.zlayer.error.AgentException.Internal(
          "no constant " + constant + " in " + type, e);
    }
  }

  private static Marks of(String key, AnnotatedElement element) {
    Marks known = ShapeFacts.marks(key);
    return known == null ? read(element) : known;
  }

  private static Marks read(AnnotatedElement element) {
    Doc doc = element.getAnnotation(Doc.class);
    Named named = element.getAnnotation(Named.class);
    Range range = element.getAnnotation(Range.class);
    Text text = element.getAnnotation(Text.class);
    Keys keys = element.getAnnotation(Keys.class);
    return new Marks(
        doc == null ? "" : doc.value(),
        named == null || named.value().isEmpty() ? Optional.empty() : Optional.of(named.value()),
        named == null ? List.of() : List.of(named.alias()),
        Optional.ofNullable(element.getAnnotation(Default.class)).map(Default::value),
        element.isAnnotationPresent(Inline.class),
        element.isAnnotationPresent(NotEmpty.class),
        range == null ? Long.MIN_VALUE : range.min(),
        range == null ? Long.MAX_VALUE : range.max(),
        text == null ? Optional.empty() : Optional.of(new Shape.Form(text.pattern(), text.write())),
        keys == null ? Optional.empty() : Optional.of(new Shape.Form(keys.pattern(), keys.write())),
        shorthand(element.getAnnotation(Shorthand.class)),
        tag(element.getAnnotation(Tagged.class)),
        written(element.getAnnotation(TextForm.class)));
  }

  private static Optional<Shape.Bare> shorthand(@Nullable Shorthand shorthand) {
    return shorthand == null
        ? Optional.empty()
        : Optional.of(new Shape.Bare(shorthand.value(), shorthand.as()));
  }

  private static Optional<Tag> tag(@Nullable Tagged tagged) {
    return tagged == null ? Optional.empty() : Optional.of(new Tag(tagged.by(), tagged.content()));
  }

  private static Optional<Written> written(@Nullable TextForm form) {
    return form == null
        ? Optional.empty()
        : Optional.of(
            new Written(form.is(), form.example(), form.pattern(), form.number(), form.list()));
  }
}

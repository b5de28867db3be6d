package dev.zlayer.spec.form;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A type that is written as one text and made by its static method {@code parse(String)}, which
 * throws {@code InvalidSpec} that says what to write.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE})
public @interface TextForm {
  /** What it is, in the words of a reader: "a size". */
  String is();

  /** A correct text. */
  String example();

  /** Roughly what {@code parse} accepts, for editors. */
  String pattern() default "";

  /** Whether a bare number is also a text of this form. */
  boolean number() default false;

  /** Whether a list of texts is accepted too, by the static method {@code of(List)}. */
  boolean list() default false;
}

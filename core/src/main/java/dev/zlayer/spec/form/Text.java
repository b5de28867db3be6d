package dev.zlayer.spec.form;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The form of a text, or of every text in a list.
 *
 * <p>The pattern must be one that both Java and ECMA 262 understand, since it is also put into the
 * JSON Schema; it covers the whole text.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT})
public @interface Text {
  String pattern();

  /** Completes "write ...". */
  String write();
}

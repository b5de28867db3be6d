package dev.zlayer.spec.form;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A sealed interface of records, one of which is chosen by the value of the key {@link #by}. With
 * {@link #content} the chosen record's keys stand in that block instead of beside the tag. Without
 * {@link #by} the block has exactly one key, the name of the choice.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE})
public @interface Tagged {
  String by() default "";

  String content() default "";
}

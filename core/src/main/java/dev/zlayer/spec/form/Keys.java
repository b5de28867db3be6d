package dev.zlayer.spec.form;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The form of the keys of a map; see {@link Text}. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT})
public @interface Keys {
  String pattern();

  /** Completes "write ...". */
  String write();
}

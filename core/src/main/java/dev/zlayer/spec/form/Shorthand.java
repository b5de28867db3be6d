package dev.zlayer.spec.form;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A record that may also be written as the bare value of one of its components. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE})
public @interface Shorthand {
  /** The key that the bare value stands for. */
  String value();

  /** What the bare value looks like, for problems: "a list", "a duration". */
  String as();
}

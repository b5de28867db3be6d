package dev.zlayer.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Skips a test, or all tests of a class, on a machine that lacks something. The missing facts are
 * the reason in the test's report, from which {@code ./verify} tells every skip at its end.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(RequiresCondition.class)
public @interface Requires {
  Fact[] value() default {};

  /** Further programs that have to be installed, by name. */
  String[] programs() default {};
}

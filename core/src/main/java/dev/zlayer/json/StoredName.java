package dev.zlayer.json;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What a record behind a sealed interface is called in stored files. It stays the same when the
 * class gets another name: files of earlier versions have it.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface StoredName {
  String value();
}

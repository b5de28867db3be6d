package dev.zlayer.spec.bind;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a Java type is written in a file. Reader, schema and reference all walk these shapes, so a
 * record component is the only place where a key is defined.
 */
public sealed interface Shape {
  /** What belongs here, to complete "must be ..." and the type column of the reference. */
  String describe();

  /** A pattern and the advice for those who miss it. */
  record Form(String pattern, String write) {}

  record Text(Optional<Form> form) implements Shape {
    @Override
    public String describe() {
      return "text";
    }
  }

  record Whole(long min, long max, Class<?> type) implements Shape {
    @Override
    public String describe() {
      if (min == Long.MIN_VALUE && max == Long.MAX_VALUE) {
        return "a whole number";
      }
      if (max == Long.MAX_VALUE) {
        return "a whole number, %d or more".formatted(min);
      }
      return "a whole number from %d to %d".formatted(min, max);
    }
  }

  /** Positive, with or without decimals. */
  record Decimal() implements Shape {
    @Override
    public String describe() {
      return "a number above 0";
    }
  }

  record Bool() implements Shape {
    @Override
    public String describe() {
      return "true or false";
    }
  }

  /** Words for the constants of an enum; older words map to the same constant. */
  record Choice(Map<String, Object> constants, List<String> words) implements Shape {
    @Override
    public String describe() {
      return "one of " + String.join(", ", words);
    }
  }

  record Value(Class<?> type, ValueForm form) implements Shape {
    @Override
    public String describe() {
      return form.is();
    }
  }

  record ListOf(Shape item, boolean notEmpty) implements Shape {
    @Override
    public String describe() {
      return "a list";
    }
  }

  record MapOf(Shape key, Shape value, boolean notEmpty) implements Shape {
    @Override
    public String describe() {
      return "a mapping";
    }
  }

  /**
   * A record: a mapping with known keys.
   *
   * @param fields one for each record component
   * @param flatFields the same with those of inlined blocks in their place; inlined unions stay
   */
  record Block(
      Class<?> type,
      String doc,
      List<Field> fields,
      List<Field> flatFields,
      Optional<Bare> shorthand,
      Constructor<?> constructor)
      implements Shape {
    @Override
    public String describe() {
      return shorthand.map(s -> "a mapping or " + s.as()).orElse("a mapping");
    }

    /** Every key that may be written, without older words. */
    public List<String> keys() {
      var keys = new ArrayList<String>();
      for (Field field : flatFields) {
        if (field.inline() && field.shape() instanceof Union union) {
          keys.add(union.by());
          keys.add(union.content());
        } else {
          keys.add(field.name());
        }
      }
      return keys;
    }

    public boolean knows(String key) {
      for (Field field : flatFields) {
        boolean known =
            (field.inline() && field.shape() instanceof Union union)
                ? key.equals(union.by()) || key.equals(union.content())
                : key.equals(field.name()) || field.aliases().contains(key);
        if (known) {
          return true;
        }
      }
      return false;
    }
  }

  /** The key that a bare value stands for. */
  record Bare(String key, String as) {}

  /** One of several records; see {@link dev.zlayer.spec.form.Tagged}. */
  record Union(Class<?> type, String doc, String by, String content, Map<String, Block> variants)
      implements Shape {
    public Union {
      variants = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(variants));
    }

    @Override
    public String describe() {
      return by.isEmpty()
          ? "one of " + String.join(", ", variants.keySet())
          : "a mapping with '" + by + "'";
    }
  }

  /**
   * One record component.
   *
   * @param inline its keys stand in the surrounding block
   * @param optional the Java type is an {@link Optional}
   * @param defaultText what an absent key stands for, as YAML
   * @param defaultValue the same as a value, made once
   */
  record Field(
      String name,
      List<String> aliases,
      Shape shape,
      boolean inline,
      boolean optional,
      Optional<String> defaultText,
      Optional<Object> defaultValue,
      String doc) {
    public boolean required() {
      return !inline
          && !optional
          && defaultText.isEmpty()
          && !(shape instanceof ListOf(_, boolean notEmpty) && !notEmpty)
          && !(shape instanceof MapOf map && !map.notEmpty());
    }
  }
}

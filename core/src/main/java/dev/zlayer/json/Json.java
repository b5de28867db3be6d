package dev.zlayer.json;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A JSON value. Lookups that miss give {@link Null}, so paths can be walked without checks. */
public sealed interface Json {
  /** Members in the order they were written. */
  record Obj(Map<String, Json> members) implements Json {
    public Obj {
      members = Collections.unmodifiableMap(new LinkedHashMap<>(members));
    }
  }

  record Arr(List<Json> items) implements Json {
    public Arr {
      items = List.copyOf(items);
    }
  }

  record Str(String value) implements Json {}

  /**
   * A number of any size.
   *
   * @param value a {@link Long} if it is one, else a {@link BigDecimal}, whose tables take a
   *     command longer to get ready than all the rest
   */
  record Num(Number value) implements Json {
    public Num {
      if (!(value instanceof Long)) {
        value = exact(value);
      }
    }

    private static Number exact(Number value) {
      if (value instanceof BigDecimal decimal) {
        return whole(decimal) ? (Number) decimal.longValue() : decimal;
      }
      return value instanceof Double || value instanceof Float
          ? exact(BigDecimal.valueOf(value.doubleValue()))
          : (Number) value.longValue();
    }

    private static boolean whole(BigDecimal decimal) {
      return decimal.scale() == 0 && decimal.unscaledValue().bitLength() < Long.SIZE;
    }

    public BigDecimal decimal() {
      return value instanceof BigDecimal decimal ? decimal : BigDecimal.valueOf(value.longValue());
    }
  }

  record Bool(boolean value) implements Json {}

  record Null() implements Json {
    public static final Null INSTANCE = new Null();
  }

  /** The member of that name, or {@link Null}. */
  default Json at(String name) {
    return this instanceof Obj(var members)
        ? members.getOrDefault(name, Null.INSTANCE)
        : Null.INSTANCE;
  }

  /** The items of an array; none for everything else. */
  default List<Json> items() {
    return this instanceof Arr(var items) ? items : List.of();
  }

  /** The members of an object; none for everything else. */
  default Map<String, Json> members() {
    return this instanceof Obj(var members) ? members : Map.of();
  }

  default Optional<String> string() {
    return this instanceof Str(var value) ? Optional.of(value) : Optional.empty();
  }

  default Optional<Long> integer() {
    if (!(this instanceof Num number)) {
      return Optional.empty();
    }
    if (number.value() instanceof Long whole) {
      return Optional.of(whole);
    }
    try {
      return Optional.of(number.decimal().longValueExact());
    } catch (ArithmeticException _) {
      return Optional.empty();
    }
  }

  default Optional<Boolean> bool() {
    return this instanceof Bool(var value) ? Optional.of(value) : Optional.empty();
  }

  default boolean isNull() {
    return this instanceof Null;
  }

  /** The strings among the items of an array. */
  default List<String> strings() {
    return items().stream().flatMap(item -> item.string().stream()).toList();
  }

  /** The string members of an object. */
  default Map<String, String> stringMap() {
    var result = new LinkedHashMap<String, String>();
    members().forEach((key, value) -> value.string().ifPresent(text -> result.put(key, text)));
    return Collections.unmodifiableMap(result);
  }

  /**
   * Strings, numbers, booleans, collections, maps, optionals and trees; null becomes null. One test
   * after the other: a switch over types is made at its first use, and a command has only that one.
   */
  static Json of(@org.jspecify.annotations.Nullable Object value) {
    if (value == null) {
      return Null.INSTANCE;
    }
    if (value instanceof Json json) {
      return json;
    }
    if (value instanceof CharSequence text) {
      return new Str(text.toString());
    }
    if (value instanceof Boolean bool) {
      return new Bool(bool);
    }
    if (value instanceof Number number) {
      return new Num(number);
    }
    if (value instanceof Enum<?> constant) {
      return new Str(constant.name().toLowerCase(java.util.Locale.ROOT));
    }
    if (value instanceof Optional<?> optional) {
      return of(optional.orElse(null));
    }
    if (value instanceof Collection<?> items) {
      var list = new ArrayList<Json>();
      items.forEach(item -> list.add(of(item)));
      return new Arr(list);
    }
    if (value instanceof Map<?, ?> map) {
      var members = new LinkedHashMap<String, Json>();
      map.forEach((key, item) -> members.put(String.valueOf(key), of(item)));
      return new Obj(members);
    }
    return new Str(value.toString());
  }

  static Builder object() {
    return new Builder();
  }

  /** Builds an object member by member. */
  final class Builder {
    private final Map<String, Json> members = new LinkedHashMap<>();

    public Builder put(String name, @org.jspecify.annotations.Nullable Object value) {
      members.put(name, of(value));
      return this;
    }

    /** Leaves the member out when the optional is empty. */
    public Builder putIf(String name, Optional<?> value) {
      value.ifPresent(present -> put(name, present));
      return this;
    }

    public Obj build() {
      return new Obj(members);
    }
  }
}

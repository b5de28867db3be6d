package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Records to trees and back, for files that only we write. Component names are member names, an
 * empty optional is left out, a record behind a sealed interface carries its name in {@code is}:
 * its {@link StoredName}, which files that outlive the program need.
 */
public final class RecordJson {
  private static final String TAG = "is";

  private RecordJson() {}

  public static Json write(Object value) {
    return switch (value) {
      case Record record -> writeRecord(record);
      case OptionalInt number -> number.isPresent() ? Json.of(number.getAsInt()) : Json.of(null);
      case OptionalLong number -> number.isPresent() ? Json.of(number.getAsLong()) : Json.of(null);
      case OptionalDouble number ->
          number.isPresent() ? Json.of(number.getAsDouble()) : Json.of(null);
      case Optional<?> optional -> optional.map(RecordJson::write).orElse(Json.Null.INSTANCE);
      case List<?> list -> new Json.Arr(list.stream().map(RecordJson::write).toList());
      case Map<?, ?> map -> {
        var members = new LinkedHashMap<String, Json>();
        map.forEach((key, item) -> members.put(String.valueOf(key), write(item)));
        yield new Json.Obj(members);
      }
      case Enum<?> constant -> new Json.Str(constant.name());
      case InetAddress address -> new Json.Str(address.getHostAddress());
      default -> Json.of(value);
    };
  }

  /** Throws {@link AgentException.InvalidSpec} that names the member that does not fit. */
  public static <T> T read(Json json, Class<T> type) {
    return type.cast(read(json, (Type) type, type.getSimpleName()));
  }

  private static Json writeRecord(Record record) {
    RecordShape shape = RecordShape.of(record.getClass());
    var members = new LinkedHashMap<String, Json>();
    shape.tag().ifPresent(tag -> members.put(TAG, tag));
    for (RecordShape.Component component : shape.components()) {
      Json json = write(component.of(record));
      if (!json.isNull()) {
        members.put(component.name(), json);
      }
    }
    return new Json.Obj(members);
  }

  /** Whatever a text says that is not what was expected: files may come from elsewhere. */
  private static Object read(Json json, Type type, String path) {
    try {
      return readOne(json, type, path);
    } catch (DateTimeException | IllegalArgumentException | ArithmeticException e) {
      throw new AgentException.InvalidSpec(path + ": " + e.getMessage(), e);
    }
  }

  private static Object readOne(Json json, Type type, String path) {
    if (type instanceof ParameterizedType generic) {
      return readGeneric(json, (Class<?>) generic.getRawType(), generic, path);
    }
    var raw = (Class<?>) type;
    if (raw == OptionalInt.class) {
      return json.isNull()
          ? OptionalInt.empty()
          : OptionalInt.of(Math.toIntExact(number(json, path)));
    } else if (raw == OptionalLong.class) {
      return json.isNull() ? OptionalLong.empty() : OptionalLong.of(number(json, path));
    } else if (raw == OptionalDouble.class) {
      return json instanceof Json.Num(var value)
          ? OptionalDouble.of(value.doubleValue())
          : OptionalDouble.empty();
    } else if (raw == int.class || raw == Integer.class) {
      return Math.toIntExact(number(json, path));
    } else if (raw == long.class || raw == Long.class) {
      return number(json, path);
    } else if (raw == boolean.class || raw == Boolean.class) {
      return json.bool().orElseThrow(() -> misfit(path, raw));
    } else if (raw.isSealed() && raw.isInterface()) {
      return readSealed(json, raw, path);
    } else if (raw.isRecord()) {
      return readRecord(json, raw, path);
    }
    return readText(json.string().orElseThrow(() -> misfit(path, raw)), raw, path);
  }

  private static Object readText(String text, Class<?> raw, String path) {
    if (raw == String.class) {
      return text;
    } else if (raw == Path.class) {
      return Path.of(text);
    } else if (raw == Instant.class) {
      return Instant.parse(text);
    } else if (raw == Duration.class) {
      return Duration.parse(text);
    } else if (raw == InetAddress.class) {
      return InetAddress.ofLiteral(text);
    } else if (raw.isEnum()) {
      for (Object constant : raw.getEnumConstants()) {
        if (((Enum<?>) constant).name().equals(text)) {
          return constant;
        }
      }
    }
    throw misfit(path, raw);
  }

  private static Object readGeneric(Json json, Class<?> raw, ParameterizedType type, String path) {
    Type[] arguments = type.getActualTypeArguments();
    if (raw == Optional.class) {
      return json.isNull() ? Optional.empty() : Optional.of(read(json, arguments[0], path));
    } else if (raw == List.class) {
      var list = new ArrayList<Object>();
      json.items().forEach(item -> list.add(read(item, arguments[0], path)));
      return list;
    } else if (raw == Map.class) {
      var map = new LinkedHashMap<Object, Object>();
      json.members()
          .forEach((key, item) -> map.put(key, read(item, arguments[1], path + "." + key)));
      return map;
    }
    throw misfit(path, raw);
  }

  private static Object readSealed(Json json, Class<?> raw, String path) {
    String name = json.at(TAG).string().orElseThrow(() -> misfit(path, raw));
    for (Class<?> permitted : raw.getPermittedSubclasses()) {
      if (RecordShape.name(permitted).equals(name)) {
        return readRecord(json, permitted, path);
      }
    }
    throw new AgentException.InvalidSpec(path + ": there is no '" + name + "'");
  }

  private static Object readRecord(Json json, Class<?> raw, String path) {
    RecordComponent[] components = raw.getRecordComponents();
    var types = new Class<?>[components.length];
    var values = new Object[components.length];
    for (int i = 0; i < components.length; i++) {
      types[i] = components[i].getType();
      String name = components[i].getName();
      values[i] = read(json.at(name), components[i].getGenericType(), path + "." + name);
    }
    try {
      var constructor = raw.getDeclaredConstructor(types);
      constructor.setAccessible(true);
      return constructor.newInstance(values);
    } catch (InvocationTargetException e) {
      throw new AgentException.InvalidSpec(path + ": " + e.getTargetException().getMessage(), e);
    } catch (ReflectiveOperationException e) {
      throw new AgentException.Internal("cannot make " + raw, e);
    }
  }

  private static long number(Json json, String path) {
    return json.integer().orElseThrow(() -> misfit(path, long.class));
  }

  private static AgentException misfit(String path, Class<?> raw) {
    return new AgentException.InvalidSpec(path + ": a " + raw.getSimpleName() + " was expected");
  }
}

package dev.zlayer.daemon.rest;

import dev.zlayer.container.IpText;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Records as callers see them: members in snake_case, durations as ISO 8601, absent things left
 * out, one of several marked by {@code type}.
 */
public final class ViewJson {
  private static final Set<Class<?>> TEXTS =
      Set.of(
          ImageRef.class,
          Digest.class,
          Platform.class,
          Signal.class,
          ExecutionId.class,
          JobKey.class);

  /** What there is to know of a class of records, looked up once. */
  private static final ClassValue<Shape> SHAPES =
      new ClassValue<>() {
        @Override
        protected Shape computeValue(Class<?> type) {
          return Shape.of(type);
        }
      };

  /**
   * How records of a class are written.
   *
   * @param type its name among its siblings, if it is one of several
   */
  record Shape(Optional<String> type, List<Member> members) {
    static Shape of(Record record) {
      return SHAPES.get(record.getClass());
    }

    private static Shape of(Class<?> type) {
      boolean oneOfSeveral = Arrays.stream(type.getInterfaces()).anyMatch(Class::isSealed);
      return new Shape(
          oneOfSeveral ? Optional.of(snake(type.getSimpleName())) : Optional.empty(),
          Arrays.stream(type.getRecordComponents()).map(Member::of).toList());
    }
  }

  /** One component of a record. */
  record Member(String name, Method accessor) {
    private static Member of(RecordComponent component) {
      Method accessor = component.getAccessor();
      accessor.setAccessible(true);
      return new Member(snake(component.getName()), accessor);
    }

    @Nullable Object read(Record record) {
      try {
        return accessor.invoke(record);
      } catch (ReflectiveOperationException e) {
        throw new AgentException.Internal("cannot read " + accessor, e);
      }
    }
  }

  private ViewJson() {}

  public static Json of(@Nullable Object value) {
    return switch (value) {
      case null -> Json.Null.INSTANCE;
      case Json json -> json;
      case Duration duration -> new Json.Str(duration.toString());
      case InetAddress address -> new Json.Str(IpText.of(address));
      case Optional<?> optional -> of(optional.orElse(null));
      case OptionalInt number -> number.isPresent() ? Json.of(number.getAsInt()) : Json.of(null);
      case OptionalLong number -> number.isPresent() ? Json.of(number.getAsLong()) : Json.of(null);
      case OptionalDouble number ->
          number.isPresent() ? Json.of(number.getAsDouble()) : Json.of(null);
      case Record record when isText(record.getClass()) -> new Json.Str(record.toString());
      case Record record -> record(record);
      case Collection<?> items -> new Json.Arr(items.stream().map(ViewJson::of).toList());
      case Map<?, ?> map -> {
        var members = new LinkedHashMap<String, Json>();
        map.forEach((key, item) -> members.put(String.valueOf(key), of(item)));
        yield new Json.Obj(members);
      }
      default -> Json.of(value);
    };
  }

  /** A record that has a text of its own (an image reference, a digest) is that text. */
  public static boolean isText(Class<?> type) {
    return TEXTS.contains(type);
  }

  private static Json record(Record record) {
    Shape shape = Shape.of(record);
    var members = new LinkedHashMap<String, Json>();
    shape.type().ifPresent(type -> members.put("type", new Json.Str(type)));
    for (Member member : shape.members()) {
      Json json = of(member.read(record));
      if (!json.isNull()) {
        members.put(member.name(), json);
      }
    }
    return new Json.Obj(members);
  }

  public static String snake(String name) {
    return name.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
  }
}

package dev.zlayer.daemon.rest;

import dev.zlayer.container.Signal;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.lang.reflect.RecordComponent;
import java.net.InetAddress;
import java.time.Duration;
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
 * Records as callers see them: members in snake_case, durations as people write them, absent things
 * left out, one of several marked by {@code type}.
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

  private ViewJson() {}

  public static Json of(@Nullable Object value) {
    return switch (value) {
      case null -> Json.Null.INSTANCE;
      case Json json -> json;
      case Duration duration -> new Json.Str(Durations.print(duration));
      case InetAddress address -> new Json.Str(address.getHostAddress());
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
    var members = new LinkedHashMap<String, Json>();
    if (List.of(record.getClass().getInterfaces()).stream().anyMatch(Class::isSealed)) {
      members.put("type", new Json.Str(snake(record.getClass().getSimpleName())));
    }
    for (RecordComponent component : record.getClass().getRecordComponents()) {
      Json json = of(read(record, component));
      if (!json.isNull()) {
        members.put(snake(component.getName()), json);
      }
    }
    return new Json.Obj(members);
  }

  private static @Nullable Object read(Record record, RecordComponent component) {
    try {
      var accessor = component.getAccessor();
      accessor.setAccessible(true);
      return accessor.invoke(record);
    } catch (ReflectiveOperationException e) {
      throw new AgentException.Internal("cannot read " + component, e);
    }
  }

  public static String snake(String name) {
    return name.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
  }
}

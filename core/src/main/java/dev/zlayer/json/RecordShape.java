package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What has to be known to write a record.
 *
 * @param tag its name, if it is one of several
 */
record RecordShape(Optional<Json> tag, List<Component> components) {
  /** Looking a class up anew costs more than writing the record. */
  private static final ClassValue<RecordShape> KNOWN =
      new ClassValue<>() {
        @Override
        protected RecordShape computeValue(Class<?> type) {
          return look(type);
        }
      };

  record Component(String name, Method accessor) {
    private static Component of(RecordComponent component) {
      Method accessor = component.getAccessor();
      accessor.setAccessible(true);
      return new Component(component.getName(), accessor);
    }

    Object of(Record record) {
      try {
        return accessor.invoke(record);
      } catch (IllegalAccessException | InvocationTargetException e) {
        throw new AgentException.Internal("cannot read " + accessor, e);
      }
    }
  }

  static RecordShape of(Class<? extends Record> type) {
    return KNOWN.get(type);
  }

  private static RecordShape look(Class<?> type) {
    boolean tagged = List.of(type.getInterfaces()).stream().anyMatch(Class::isSealed);
    return new RecordShape(
        tagged ? Optional.of(new Json.Str(name(type))) : Optional.empty(),
        Stream.of(type.getRecordComponents()).map(Component::of).toList());
  }

  /** What one of several is called. */
  static String name(Class<?> type) {
    StoredName stored = type.getAnnotation(StoredName.class);
    return stored == null ? type.getSimpleName() : stored.value();
  }
}

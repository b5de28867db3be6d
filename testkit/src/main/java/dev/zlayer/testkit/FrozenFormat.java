package dev.zlayer.testkit;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredName;
import java.io.IOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Examples of stored formats that lie among the resources of tests and are never changed: whoever
 * changes a format has to give it a new version, with a step from the one before and an example of
 * its own. With {@code ZLAYER_UPDATE_FIXTURES} set, an example that does not exist yet is written.
 */
public final class FrozenFormat {
  private static final Path RESOURCES = Path.of("src/test/resources/stored");

  private FrozenFormat() {}

  /** The bytes of an example. */
  public static byte[] read(String name) {
    try {
      return Files.readAllBytes(RESOURCES.resolve(name));
    } catch (IOException e) {
      throw new AssertionError(
          "there is no example %s: run this with ZLAYER_UPDATE_FIXTURES=1".formatted(name), e);
    }
  }

  /** Fails when what is written now differs from the example of this version. */
  public static void check(String name, Json written) {
    check(name, JsonText.pretty(written) + "\n");
  }

  /** As the other, for text. */
  public static void check(String name, String written) {
    Path file = RESOURCES.resolve(name);
    if (!Files.exists(file) && System.getenv("ZLAYER_UPDATE_FIXTURES") != null) {
      try {
        Files.createDirectories(RESOURCES);
        Files.writeString(file, written);
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
    String frozen = new String(read(name), StandardCharsets.UTF_8);
    if (!frozen.equals(written)) {
      throw new AssertionError(
          "the format of %s has changed: raise its version, with a step from the one before%nwas:%n%s%nis:%n%s"
              .formatted(name, frozen, written));
    }
  }

  /**
   * Everything that decides what a record looks like as JSON: members, variants with their stored
   * names, constants. Names of classes do not appear.
   */
  public static String shape(Class<?> record) {
    var types = new TreeMap<String, String>();
    describe(record, record.isRecord() ? "record" : "value", types);
    return types.entrySet().stream()
        .map(entry -> entry.getKey() + ": " + entry.getValue() + "\n")
        .collect(Collectors.joining());
  }

  private static void describe(Type type, String path, Map<String, String> found) {
    if (type instanceof ParameterizedType generic) {
      var raw = (Class<?>) generic.getRawType();
      Type[] arguments = generic.getActualTypeArguments();
      String suffix = raw == Optional.class ? "?" : raw == Map.class ? "{}" : "[]";
      describe(arguments[arguments.length - 1], path + suffix, found);
      return;
    }
    var raw = (Class<?>) type;
    if (raw.isSealed() && raw.isInterface()) {
      for (Class<?> variant : raw.getPermittedSubclasses()) {
        StoredName name = variant.getAnnotation(StoredName.class);
        if (name == null) {
          throw new AssertionError(variant + " is stored and has no @StoredName");
        }
        members(variant, path + "<" + name.value() + ">", found);
      }
    } else if (raw.isRecord()) {
      members(raw, path, found);
    } else if (raw.isEnum()) {
      found.put(
          path,
          Stream.of(raw.getEnumConstants())
              .map(constant -> ((Enum<?>) constant).name())
              .sorted()
              .toList()
              .toString());
    } else {
      found.put(path, raw.getSimpleName());
    }
  }

  private static void members(Class<?> record, String path, Map<String, String> found) {
    List<RecordComponent> components = List.of(record.getRecordComponents());
    if (components.isEmpty()) {
      found.put(path, "no members");
    }
    for (RecordComponent component : components) {
      describe(component.getGenericType(), path + "." + component.getName(), found);
    }
  }
}

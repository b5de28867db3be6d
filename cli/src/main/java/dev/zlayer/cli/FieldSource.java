package dev.zlayer.cli;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The source of the classes that set the fields of verbs in a distribution, one for a package: each
 * path of a {@link CommandModel} whose classes and fields are open to the package.
 */
final class FieldSource {
  /** Of verbs that are typed all the time. */
  static final List<String> PACKAGES =
      List.of("dev.zlayer.cli.command.run", "dev.zlayer.cli.command.container");

  private final String name;
  private final StringBuilder source = new StringBuilder();

  private FieldSource(String name) {
    this.name = name;
  }

  static String of(String name, Collection<String> models) {
    var paths = new TreeSet<String>();
    for (String model : models) {
      model
          .lines()
          .filter(line -> line.indexOf(' ') > 0)
          .map(line -> line.substring(line.lastIndexOf(' ') + 1))
          .forEach(paths::add);
    }
    return new FieldSource(name).print(paths);
  }

  private String print(Collection<String> paths) {
    source.append("package ").append(name).append(";\n\n");
    source.append("/** Made when the distribution was built. */\n");
    source.append("public final class BoundFields {\n  private BoundFields() {}\n\n");
    source.append("  @SuppressWarnings(\"unchecked\")\n");
    source.append("  public static boolean set(String path, Object command, Object value) {\n");
    source.append("    switch (path) {\n");
    for (String path : paths) {
      assignment(path)
          .ifPresent(set -> source.append("      case \"%s\" -> %s;\n".formatted(path, set)));
    }
    source.append("      default -> {\n        return false;\n      }\n    }\n");
    return source.append("    return true;\n  }\n}\n").toString();
  }

  private Optional<String> assignment(String path) {
    Field[] fields =
        Arrays.stream(path.split("/", -1)).map(FieldSource::field).toArray(Field[]::new);
    if (!Arrays.stream(fields).allMatch(this::open)) {
      return Optional.empty();
    }
    var to = new StringBuilder();
    to.append("((").append(fields[0].getDeclaringClass().getCanonicalName()).append(") command)");
    for (Field field : fields) {
      to.append('.').append(field.getName());
    }
    return Optional.of(
        to
            + " = ("
            + fields[fields.length - 1].getGenericType().getTypeName().replace('$', '.')
            + ") value");
  }

  /** Also the type of a field has to be known where it is set. */
  private boolean open(Field field) {
    Class<?> type = field.getDeclaringClass();
    return type.getPackageName().equals(name)
        && !Modifier.isPrivate(type.getModifiers())
        && !Modifier.isPrivate(field.getModifiers())
        && !Modifier.isFinal(field.getModifiers())
        && !Modifier.isPrivate(field.getType().getModifiers());
  }

  private static Field field(String path) {
    int hash = path.indexOf('#');
    try {
      return Class.forName(path.substring(0, hash)).getDeclaredField(path.substring(hash + 1));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the command model does not fit the verbs", e);
    }
  }
}

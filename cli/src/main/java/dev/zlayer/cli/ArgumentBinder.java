package dev.zlayer.cli;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Gives a verb its options and arguments by its {@link CommandModel}. It only binds what is plain:
 * help, mistakes and rare notations are left to picocli, so that there is one place that explains
 * them.
 */
final class ArgumentBinder {
  private final String model;
  private final boolean stop;
  private final Map<String, List<String>> options = new LinkedHashMap<>();
  private final List<String> arguments = new ArrayList<>();

  private ArgumentBinder(String model) {
    this.model = "\n" + model;
    this.stop = model.startsWith(CommandModel.STOP_AT_POSITIONAL);
  }

  /**
   * The verb, ready to be called; nothing when picocli has to decide.
   *
   * @param words what follows the verb
   * @param maker makes the verb; called only when all words can be bound
   */
  static Optional<Callable<Integer>> bind(
      String model, List<String> words, Supplier<? extends Object> maker) {
    if (model.isEmpty()) {
      return Optional.empty();
    }
    var binder = new ArgumentBinder(model);
    if (!binder.read(words)) {
      return Optional.empty();
    }
    try {
      return binder.bind(maker);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the command model does not fit the verbs", e);
    }
  }

  private boolean read(List<String> words) {
    for (String word : words) {
      if (word.startsWith("@") || word.equals("--")) {
        return false; // a file of arguments, the end of options
      }
    }
    for (int i = 0; i < words.size(); i++) {
      String word = words.get(i);
      if (!word.startsWith("-")) {
        if (stop) {
          arguments.addAll(words.subList(i, words.size()));
          return true;
        }
        arguments.add(word);
        continue;
      }
      String next = i + 1 < words.size() ? words.get(i + 1) : "-";
      int taken = word.startsWith("--") ? longOption(word, next) : shortOptions(word, next);
      if (taken < 0) {
        return false;
      }
      i += taken;
    }
    return true;
  }

  /** How many words its value takes; negative when this is not plain. */
  private int longOption(String word, String next) {
    int equals = word.indexOf('=');
    String name = equals < 0 ? word : word.substring(0, equals);
    String line = line(name);
    if (line == null) {
      return -1;
    }
    if (flag(line)) {
      return equals < 0 && add(line, "") ? 0 : -1;
    }
    if (equals >= 0) {
      return equals + 1 < word.length() && add(line, word.substring(equals + 1)) ? 0 : -1;
    }
    return !next.startsWith("-") && add(line, next) ? 1 : -1;
  }

  /** {@code -a}, {@code -ab}, {@code -n 5} and {@code -n5}. */
  private int shortOptions(String word, String next) {
    if (word.length() < 2) {
      return -1;
    }
    for (int i = 1; i < word.length(); i++) {
      String line = line("-" + word.charAt(i));
      if (line == null) {
        return -1;
      }
      if (flag(line)) {
        if (!add(line, "")) {
          return -1;
        }
        continue;
      }
      if (i + 1 < word.length()) {
        String value = word.substring(i + 1);
        return !value.startsWith("=") && add(line, value) ? 0 : -1;
      }
      return !next.startsWith("-") && add(line, next) ? 1 : -1;
    }
    return 0;
  }

  /** False when it was given before and takes one value. */
  private boolean add(String line, String value) {
    List<String> values = options.computeIfAbsent(place(line), _ -> new ArrayList<>());
    values.add(value);
    return values.size() == 1 || type(line).equals("strings");
  }

  private @Nullable String line(String name) {
    int at = model.indexOf("\n" + name + " ");
    return at < 0 ? null : model.substring(at + 1, model.indexOf('\n', at + 1));
  }

  private Optional<Callable<Integer>> bind(Supplier<? extends Object> maker)
      throws ReflectiveOperationException {
    List<Binding> bindings = new ArrayList<>();
    for (Map.Entry<String, List<String>> option : options.entrySet()) {
      bindings.add(new Binding(option.getKey(), option.getValue()));
    }
    if (!bindArguments(bindings)) {
      return Optional.empty();
    }
    List<Object> values = new ArrayList<>();
    for (Binding binding : bindings) {
      Object value = value(type("- " + binding.place), binding.values);
      if (value == null) {
        return Optional.empty();
      }
      values.add(value);
    }
    Object command = maker.get();
    for (int i = 0; i < values.size(); i++) {
      set(command, bindings.get(i).place, values.get(i));
    }
    return command instanceof Callable<?> callable
        ? Optional.of(() -> (Integer) callable.call())
        : Optional.empty();
  }

  private record Binding(String place, List<String> values) {}

  private boolean bindArguments(List<Binding> bindings) {
    int bound = 0;
    for (int at = model.indexOf("\n#"); at >= 0; at = model.indexOf("\n#", at + 1)) {
      String line = model.substring(at + 1, model.indexOf('\n', at + 1));
      String name = line.substring(1, line.indexOf(' '));
      boolean required = name.endsWith("!");
      boolean several = name.contains("*");
      int index = Integer.parseInt(name, 0, digits(name), 10);
      if (index >= arguments.size()) {
        if (required) {
          return false;
        }
        continue;
      }
      int end = several ? arguments.size() : index + 1;
      bindings.add(new Binding(place(line), arguments.subList(index, end)));
      bound = Math.max(bound, end);
    }
    return bound == arguments.size();
  }

  private static int digits(String name) {
    int end = 0;
    while (end < name.length() && name.charAt(end) >= '0' && name.charAt(end) <= '9') {
      end++;
    }
    return end;
  }

  /** Type and field of a line of the model. */
  private static String place(String line) {
    return line.substring(line.indexOf(' ') + 1);
  }

  private static String type(String line) {
    int from = line.indexOf(' ') + 1;
    return line.substring(from, line.indexOf(' ', from));
  }

  private static boolean flag(String line) {
    return type(line).equals("flag");
  }

  /** Null when it is not plain. */
  private static @Nullable Object value(String type, List<String> values)
      throws ReflectiveOperationException {
    String first = values.getFirst();
    return switch (type) {
      case "flag" -> true;
      case "string" -> first;
      case "strings" -> new ArrayList<>(values);
      case "int" -> number(first) ? Integer.valueOf(first) : null;
      case "long" -> number(first) ? Long.valueOf(first) : null;
      case "double" -> number(first) ? Double.valueOf(first) : null;
      default -> constant(Class.forName(type.substring("enum:".length())), first);
    };
  }

  private static boolean number(String text) {
    return !text.isEmpty()
        && text.length() < 10
        && digits(text) == text.length()
        && (text.length() == 1 || text.charAt(0) != '0');
  }

  private static @Nullable Object constant(Class<?> type, String text) {
    for (Object constant : type.getEnumConstants()) {
      if (((Enum<?>) constant).name().equalsIgnoreCase(text)) {
        return constant;
      }
    }
    return null;
  }

  private static void set(Object command, String place, Object value)
      throws ReflectiveOperationException {
    String path = place(place);
    if (dev.zlayer.cli.command.run.BoundFields.set(path, command, value)
        || dev.zlayer.cli.command.container.BoundFields.set(path, command, value)) {
      return;
    }
    int slash = path.indexOf('/');
    Object owner = slash < 0 ? command : field(path.substring(0, slash)).get(command);
    field(path.substring(slash + 1)).set(owner, value);
  }

  private static Field field(String name) throws ReflectiveOperationException {
    int hash = name.indexOf('#');
    Field field = Class.forName(name.substring(0, hash)).getDeclaredField(name.substring(hash + 1));
    field.setAccessible(true);
    return field;
  }
}

package dev.zlayer.cli;

import dev.zlayer.cli.command.Group;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * The options and arguments of every verb as text, made from its annotations when the program is
 * built: {@link ArgumentBinder} needs no more than that, and reading annotations would take a
 * command longer than all the rest. A verb, or an option, that cannot be described so is left out,
 * and stays with picocli.
 *
 * <p>One line per name: {@code --name type field}, or {@code #0 type field} for an argument, {@code
 * #1*} for the last one that takes all others; {@code !} marks one that must be there. The first
 * line says whether options may follow arguments.
 */
final class CommandModel {
  static final String STOP_AT_POSITIONAL = "stop";
  static final String INTERSPERSED = "interspersed";

  private static final Map<Class<?>, String> TYPES =
      Map.of(
          boolean.class, "flag",
          String.class, "string",
          int.class, "int",
          Integer.class, "int",
          Long.class, "long",
          Double.class, "double");

  private CommandModel() {}

  /** By the words that name the verb, such as {@code job run}. */
  static SequencedMap<String, String> of(CommandLine grammar) {
    var models = new LinkedHashMap<String, String>();
    for (Verb verb : Verb.values()) {
      CommandLine line = below(grammar, verb.word);
      Optional<Group> group = verb.group();
      if (group.isEmpty()) {
        describe(line).ifPresent(model -> models.put(verb.word, model));
        continue;
      }
      for (String below : group.get().words()) {
        describe(below(line, below)).ifPresent(model -> models.put(verb.word + " " + below, model));
      }
    }
    return models;
  }

  /** The source of the class that takes the place of {@link BuildFacts} in a distribution. */
  static String source(CommandLine grammar, String version) {
    var source = new StringBuilder();
    source.append("package dev.zlayer.cli;\n\n");
    source.append("/** Made when the distribution was built. */\n");
    source.append("public final class BuildFacts {\n");
    source.append("  private BuildFacts() {}\n\n");
    source.append("  public static String version() {\n    return ");
    source.append(literal(version)).append(";\n  }\n\n");
    source.append("  static String commandModel(String verb) {\n    return switch (verb) {\n");
    of(grammar)
        .forEach(
            (verb, model) ->
                source.append("      case %s -> %s;\n".formatted(literal(verb), literal(model))));
    return source.append("      default -> \"\";\n    };\n  }\n}\n").toString();
  }

  private static String literal(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }

  private static CommandLine below(CommandLine line, String word) {
    return Objects.requireNonNull(line.getSubcommands().get(word));
  }

  private static Optional<String> describe(CommandLine line) {
    CommandSpec spec = line.getCommandSpec();
    Object command = spec.userObject();
    if (!(command instanceof Callable) || !spec.argGroups().isEmpty()) {
      return Optional.empty();
    }
    var text = new ArrayList<String>();
    text.add(line.isStopAtPositional() ? STOP_AT_POSITIONAL : INTERSPERSED);
    for (OptionSpec option : spec.options()) {
      if (option.usageHelp()) {
        continue;
      }
      Optional<String> place = place(command, option);
      if (option.required() || !(option.userObject() instanceof Field)) {
        return Optional.empty();
      }
      int values = type(option).filter("flag"::equals).isPresent() ? 0 : 1;
      if (place.isPresent() && option.arity().min() == values && option.arity().max() == values) {
        for (String name : option.names()) {
          text.add(name + " " + place.get());
        }
      }
    }
    for (PositionalParamSpec argument : spec.positionalParameters()) {
      Optional<String> place = place(command, argument);
      if (place.isEmpty()) {
        return Optional.empty();
      }
      boolean several = argument.isMultiValue();
      int from = argument.index().min();
      if (several ? !argument.index().isVariable() : argument.index().max() != from) {
        return Optional.empty();
      }
      text.add(
          "#%d%s%s %s"
              .formatted(
                  from, several ? "*" : "", argument.arity().min() > 0 ? "!" : "", place.get()));
    }
    return Optional.of(String.join("\n", text) + "\n");
  }

  private static Optional<String> place(Object command, ArgSpec argument) {
    Optional<String> type = type(argument);
    if (type.isEmpty()
        || (argument.splitRegex() != null && !argument.splitRegex().isEmpty())
        || argument.converters().length > 0
        || argument.defaultValue() != null
        || !(argument.userObject() instanceof Field field)) {
      return Optional.empty();
    }
    return path(command.getClass(), field).map(path -> type.get() + " " + path);
  }

  private static Optional<String> type(ArgSpec argument) {
    Class<?> type = argument.typeInfo().getType();
    if (type == List.class) {
      return argument.auxiliaryTypes()[0] == String.class
          ? Optional.of("strings")
          : Optional.empty();
    }
    return type.isEnum()
        ? Optional.of("enum:" + type.getName())
        : Optional.ofNullable(TYPES.get(type));
  }

  /** Where the value goes: a field, or the field of a mixin and one in there. */
  private static Optional<String> path(Class<?> command, Field field) {
    if (field.getDeclaringClass().isAssignableFrom(command)) {
      return Optional.of(name(field));
    }
    for (Class<?> type = command; type != Object.class; type = type.getSuperclass()) {
      for (Field one : type.getDeclaredFields()) {
        if (one.isAnnotationPresent(Mixin.class) && one.getType() == field.getDeclaringClass()) {
          return Optional.of(name(one) + "/" + name(field));
        }
      }
    }
    return Optional.empty();
  }

  private static String name(Field field) {
    return field.getDeclaringClass().getName() + "#" + field.getName();
  }
}

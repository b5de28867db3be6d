package dev.zlayer.cli;

import dev.zlayer.cli.command.Group;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * What could follow on a command line, for the scripts of shells: verbs, options, and names that
 * the daemon knows. Only the verb that was typed is built, so it is quick.
 */
final class Completion {
  /** The verb that scripts call; no help shows it. */
  static final String WORD = "__complete";

  private final Session session;

  Completion(Session session) {
    this.session = session;
  }

  /**
   * Prints one candidate per line; nothing when there is none, and then shells offer files.
   *
   * @param typed all words after the program's name; the last one is being typed
   */
  int run(List<String> typed) {
    String partial = typed.isEmpty() ? "" : typed.getLast();
    candidates(typed, partial)
        .filter(candidate -> candidate.startsWith(partial))
        .distinct()
        .sorted()
        .forEach(session.out()::println);
    return 0;
  }

  private Stream<String> candidates(List<String> typed, String partial) {
    if (typed.size() <= 1) {
      return Stream.concat(Stream.of(Verb.values()).map(verb -> verb.word), Stream.of("help"));
    }
    Optional<Verb> verb = Verb.find(typed.getFirst());
    if (verb.isEmpty()) {
      return Stream.empty();
    }
    Optional<Group> group = verb.get().group();
    if (group.isPresent() && typed.size() == 2) {
      return group.get().words().stream();
    }
    CommandLine line = verb.get().make(session, group.map(_ -> typed.get(1)));
    int words = 1;
    if (group.isPresent()) {
      line = line.getSubcommands().get(typed.get(1));
      words = 2;
    }
    if (line == null) {
      return Stream.empty();
    }
    List<String> before = typed.subList(words, typed.size() - 1);
    return following(line.getCommandSpec(), before, partial, verb.get());
  }

  private Stream<String> following(
      CommandSpec spec, List<String> before, String partial, Verb verb) {
    Optional<OptionSpec> open = open(spec, before);
    if (open.isPresent()) {
      return names(open.get().paramLabel(), verb);
    }
    List<String> arguments = arguments(spec, before);
    boolean program = verb == Verb.RUN || verb == Verb.CREATE || verb == Verb.EXEC;
    if (program && !arguments.isEmpty()) {
      return Stream.empty(); // what follows belongs to the program inside
    }
    if (partial.startsWith("-")) {
      return Stream.concat(
          spec.options().stream()
              .filter(option -> !option.hidden())
              .flatMap(option -> Stream.of(option.names())),
          Stream.of("--help"));
    }
    return spec.positionalParameters().stream()
        .filter(parameter -> parameter.index().contains(arguments.size()))
        .findFirst()
        .map(parameter -> names(parameter.paramLabel(), verb))
        .orElseGet(Stream::empty);
  }

  private Stream<String> names(String label, Verb verb) {
    return new CompletionNames(session).of(label, verb.word);
  }

  /** The option whose value comes next. */
  private static Optional<OptionSpec> open(CommandSpec spec, List<String> before) {
    return before.isEmpty() ? Optional.empty() : valued(spec, before.getLast());
  }

  private static Optional<OptionSpec> valued(CommandSpec spec, String word) {
    return Optional.ofNullable(spec.findOption(word)).filter(option -> option.arity().max() > 0);
  }

  private static List<String> arguments(CommandSpec spec, List<String> before) {
    var arguments = new ArrayList<String>();
    boolean value = false;
    for (String word : before) {
      if (!value && (!word.startsWith("-") || word.equals("-"))) {
        arguments.add(word);
      }
      value = !value && valued(spec, word).isPresent();
    }
    return arguments;
  }
}

package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** A verb with verbs below it. Only the one that was typed is built. */
public final class Group {
  private final String word;
  private final String description;
  private final Map<String, Function<Session, Object>> verbs = new LinkedHashMap<>();
  private final Set<String> hidden = new HashSet<>();

  public Group(String word, String description) {
    this.word = word;
    this.description = description;
  }

  public Group with(String word, Function<Session, Object> verb) {
    verbs.put(word, verb);
    return this;
  }

  /** A verb for programs, which no list shows. */
  public Group withHidden(String word, Function<Session, Object> verb) {
    hidden.add(word);
    return with(word, verb);
  }

  public String description() {
    return description;
  }

  public List<String> words() {
    return verbs.keySet().stream().filter(word -> !hidden.contains(word)).toList();
  }

  /** One of the verbs below, by its name. */
  public Object verb(Session session, String word) {
    return Optional.ofNullable(verbs.get(word)).orElseThrow().apply(session);
  }

  /** The grammar: of one verb below if that is known to be wanted, else of all. */
  public CommandLine commandLine(Session session, Optional<String> wanted) {
    CommandSpec spec = CommandSpec.wrapWithoutInspection(new Incomplete(word, words()));
    spec.name(word);
    spec.usageMessage().description(description).synopsisSubcommandLabel("COMMAND");
    var command = new CommandLine(spec);
    verbs.forEach(
        (name, maker) -> {
          if (wanted.isEmpty() || !verbs.containsKey(wanted.get()) || wanted.get().equals(name)) {
            command.addSubcommand(name, maker.apply(session));
          }
        });
    ((Incomplete) spec.userObject()).command = Optional.of(command);
    return command;
  }

  /** What happens when only the group was typed. */
  private static final class Incomplete implements Callable<Integer> {
    private final String word;
    private final Iterable<String> verbs;
    private Optional<CommandLine> command = Optional.empty();

    Incomplete(String word, Iterable<String> verbs) {
      this.word = word;
      this.verbs = verbs;
    }

    @Override
    public Integer call() {
      throw new ParameterException(
          command.orElseThrow(),
          "'%s' needs a subcommand: %s".formatted(word, String.join(", ", verbs)));
    }
  }
}

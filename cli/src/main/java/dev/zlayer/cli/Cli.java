package dev.zlayer.cli;

import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.command.Group;
import dev.zlayer.cli.command.daemon.ServeCommand;
import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.daemon.Version;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.spec.problem.Nearest;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;

/**
 * Finds the verb, runs it, and turns whatever went wrong into one clear message and the exit code
 * of its blame.
 */
public final class Cli {
  private static final int WRONG_USE = Blame.REQUEST.exitCode();

  /** After {@code help}: the whole reference, which the documentation holds a copy of. */
  private static final String REFERENCE = "--reference";

  /** After {@code help}, before a directory: pages for {@code man}, which packages install. */
  private static final String MANUAL = "--man";

  /** Wide enough for every example; a wider terminal is used as it is. */
  private static final int HELP_WIDTH = 96;

  /** Shows stack traces of internal errors. */
  private static final String DEBUG = "ZLAYER_DEBUG";

  /** After {@code help}, before a directory: sources of what a distribution knows about itself. */
  private static final String BUILD_FACTS = "--build-facts";

  private static final Set<String> HELP = Set.of("-h", "--help", "help");
  private static final Set<String> VERSION = Set.of("-v", "-V", "--version");

  private final Session session;
  private final UnaryOperator<String> models;

  public Cli(Session session) {
    this(session, BuildFacts::commandModel);
  }

  /**
   * With other models.
   *
   * @param models the {@link CommandModel} by the words of a verb; empty for those without one
   */
  Cli(Session session, UnaryOperator<String> models) {
    this.session = session;
    this.models = models;
  }

  @Command(
      name = "zlayer",
      description = "Run services, jobs and schedules from one file, on one machine or a few",
      mixinStandardHelpOptions = false,
      synopsisSubcommandLabel = "COMMAND")
  private static final class Root {}

  /** Runs one command line and returns its exit code; no fault of ours ends in a stack trace. */
  public int run(String... arguments) {
    try {
      return find(Arrays.asList(arguments));
    } catch (OutputClosed e) {
      throw e; // whoever made the output knows its exit code
    } catch (RuntimeException | Error e) {
      return failed(e);
    }
  }

  private int find(List<String> words) {
    if (words.isEmpty() || HELP.contains(words.getFirst())) {
      return help(words);
    }
    if (VERSION.contains(words.getFirst())) {
      return find(List.of("version"));
    }
    if (words.getFirst().equals(Completion.WORD)) {
      return new Completion(session).run(words.subList(1, words.size()));
    }
    Optional<Verb> verb = Verb.find(words.getFirst());
    if (verb.isEmpty()) {
      return unknown(words.getFirst(), words.getFirst(), verbs(), "'zlayer --help' lists all");
    }
    Optional<String> below =
        words.size() > 1
            ? Optional.of(words.get(1)).filter(word -> !word.startsWith("-"))
            : Optional.empty();
    Optional<Group> group = verb.get().group();
    Optional<Callable<Integer>> plain = plain(verb.get(), group, words);
    if (plain.isPresent()) {
      return call(plain.get());
    }
    if (group.isPresent() && below.isPresent() && !known(group.get(), below.get())) {
      String word = verb.get().word;
      return unknown(
          word + " " + below.get(),
          below.get(),
          group.get().words(),
          "'zlayer " + word + " --help' lists all");
    }
    CommandLine root = root();
    root.addSubcommand(verb.get().word, verb.get().make(session, below));
    return dressed(root).execute(words.toArray(String[]::new));
  }

  /** The verb with its options and arguments, when there is nothing to explain about them. */
  private Optional<Callable<Integer>> plain(Verb verb, Optional<Group> group, List<String> words) {
    if (verb == Verb.SERVE) {
      return ServeCommand.plain(session, words.subList(1, words.size()));
    }
    if (group.isEmpty()) {
      return ArgumentBinder.bind(
          models.apply(verb.word), words.subList(1, words.size()), () -> verb.command(session));
    }
    if (words.size() < 2) {
      return Optional.empty();
    }
    return ArgumentBinder.bind(
        models.apply(verb.word + " " + words.get(1)),
        words.subList(2, words.size()),
        () -> group.get().verb(session, words.get(1)));
  }

  private int call(Callable<Integer> verb) {
    try {
      return verb.call();
    } catch (Exception e) {
      return failed(e);
    }
  }

  /** Aliases are known to the verbs themselves, which are built only when a word is not plain. */
  private boolean known(Group group, String word) {
    return group.words().contains(word)
        || group.commandLine(session, Optional.empty()).getSubcommands().containsKey(word);
  }

  private int unknown(String typed, String word, List<String> known, String advice) {
    Optional<String> hint = typed.equals(word) ? DockerVerbs.hint(word) : Optional.empty();
    if (hint.isPresent()) {
      session.err().printf("zlayer: unknown command '%s'; %s%n", typed, hint.get());
      return WRONG_USE;
    }
    session
        .err()
        .printf(
            "zlayer: unknown command '%s'%s; %s%n",
            typed,
            Nearest.to(word, known).map(near -> ", did you mean '" + near + "'?").orElse(""),
            advice);
    return WRONG_USE;
  }

  private static List<String> verbs() {
    return Arrays.stream(Verb.values()).map(verb -> verb.word).toList();
  }

  /** The whole grammar, for completion scripts and the reference. */
  public CommandLine grammar() {
    CommandLine root = root();
    for (Verb verb : Verb.values()) {
      root.addSubcommand(verb.word, verb.make(session, Optional.empty()));
    }
    return dressed(root);
  }

  private static CommandLine root() {
    return new CommandLine(CommandSpec.forAnnotatedObject(new Root()));
  }

  private CommandLine dressed(CommandLine root) {
    root.getSubcommands().values().forEach(Cli::addHelp);
    root.setOut(new PrintWriter(session.out(), true, StandardCharsets.UTF_8));
    root.setErr(new PrintWriter(session.err(), true, StandardCharsets.UTF_8));
    root.setColorScheme(
        CommandLine.Help.defaultColorScheme(
            session.colours() ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF));
    root.setParameterExceptionHandler((error, _) -> wrongUse(error));
    root.setExecutionExceptionHandler((error, _, _) -> failed(error));
    root.setUsageHelpWidth(HELP_WIDTH);
    root.setUsageHelpAutoWidth(true);
    root.setCaseInsensitiveEnumValuesAllowed(true);
    return root;
  }

  /** Every verb, at every depth, explains itself. */
  private static void addHelp(CommandLine command) {
    if (command.getCommandSpec().findOption("--help") != null) {
      return; // the same verb under its alias
    }
    command
        .getCommandSpec()
        .addOption(
            OptionSpec.builder(names(command))
                .usageHelp(true)
                .description("Show this help")
                .build());
    command.getCommandSpec().usageMessage().abbreviateSynopsis(true);
    command.getSubcommands().values().forEach(Cli::addHelp);
  }

  /** Where -h means something else, as Docker has it, only the long form helps. */
  private static String[] names(CommandLine command) {
    return command.getCommandSpec().findOption("-h") == null
        ? new String[] {"-h", "--help"}
        : new String[] {"--help"};
  }

  private int help(List<String> words) {
    if (words.equals(List.of("help", REFERENCE))) {
      session.out().print(CommandReference.markdown(this::grammar));
      return 0;
    }
    if (words.size() == 3 && words.get(1).equals(BUILD_FACTS)) {
      return write("sources", session.resolve(words.get(2)), FactSources.of(grammar()));
    }
    if (words.size() == 3 && words.get(1).equals(MANUAL)) {
      return write(
          "manual pages",
          session.resolve(words.get(2)),
          ManPages.of(grammar(), Version.CURRENT.version()));
    }
    if (words.size() > 1 && words.getFirst().equals("help")) {
      var asked = new ArrayList<>(words.subList(1, words.size()));
      asked.add("--help");
      return run(asked.toArray(String[]::new));
    }
    session.out().print(HelpText.of(session));
    return 0;
  }

  private int write(String what, Path directory, Map<String, String> files) {
    try {
      for (var file : files.entrySet()) {
        Path path = directory.resolve(file.getKey());
        Files.createDirectories(Objects.requireNonNull(path.getParent()));
        Files.writeString(path, file.getValue());
      }
      return 0;
    } catch (IOException e) {
      return failed(
          new AgentException.Configuration(
              "cannot write %s to %s: %s".formatted(what, directory, e.getMessage()), e));
    }
  }

  private int wrongUse(ParameterException error) {
    CommandLine command = error.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    session.err().println("zlayer: " + UsageError.text(error));
    session.err().println("see '" + name + " --help'");
    return WRONG_USE;
  }

  private int failed(Throwable error) {
    if (error instanceof DaemonProblem problem) {
      session.err().println("zlayer: " + problem.getMessage());
      return problem.exitCode();
    }
    if (error instanceof ConnectionLost lost) {
      session.err().println("zlayer: " + lost.getMessage());
      return lost.blame().exitCode();
    }
    if (error instanceof AgentException ours) {
      session.err().println("zlayer: " + ours.getMessage());
      if (ours instanceof AgentException.Internal) {
        trace(ours);
      }
      return ours.blame().exitCode();
    }
    if (error instanceof OutputClosed closed) {
      if (!closed.pipe()) {
        session.err().println("zlayer: " + closed.getMessage());
      }
      return closed.exitCode();
    }
    if (error instanceof InterruptedException) {
      session.err().println("zlayer: interrupted");
      return 130;
    }
    session
        .err()
        .printf(
            "zlayer: internal error: %s; set %s=1 to see where%n",
            Objects.requireNonNullElseGet(error.getMessage(), error::toString), DEBUG);
    trace(error);
    return Blame.SELF.exitCode();
  }

  /** Stack traces are for those who asked for them. */
  private void trace(Throwable error) {
    if (session.variable(DEBUG).isPresent()) {
      error.printStackTrace(session.err());
    }
  }
}

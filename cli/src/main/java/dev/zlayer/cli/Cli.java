package dev.zlayer.cli;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.spec.problem.Nearest;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Finds the verb, runs it, and turns whatever went wrong into one clear message and the exit code
 * of its blame.
 */
public final class Cli {
  private static final int WRONG_USE = Blame.REQUEST.exitCode();

  private final Session session;

  public Cli(Session session) {
    this.session = session;
  }

  @Command(
      name = "zlayer",
      description = "Runs services, jobs and schedules from one file, on one machine or a handful.",
      mixinStandardHelpOptions = false,
      synopsisSubcommandLabel = "COMMAND")
  private static final class Root {}

  /** Runs one command line and returns its exit code. */
  public int run(String... arguments) {
    List<String> words = Arrays.asList(arguments);
    if (words.isEmpty() || words.getFirst().matches("-h|--help|help")) {
      return help(words);
    }
    if (words.getFirst().matches("-v|-V|--version")) {
      words = List.of("version");
    }
    Optional<Verb> verb = Verb.find(words.getFirst());
    if (verb.isEmpty()) {
      session.err().println("zlayer: " + unknownVerb(words.getFirst()));
      return WRONG_USE;
    }
    return commandLine(List.of(verb.get())).execute(words.toArray(String[]::new));
  }

  /** The whole grammar, for completion scripts and the reference. */
  public CommandLine grammar() {
    return commandLine(Arrays.asList(Verb.values()));
  }

  private CommandLine commandLine(List<Verb> verbs) {
    var root = new CommandLine(CommandSpec.forAnnotatedObject(new Root()));
    for (Verb verb : verbs) {
      root.addSubcommand(verb.word, verb.make(session));
    }
    root.getSubcommands().values().forEach(Cli::addHelp);
    root.setOut(new PrintWriter(session.out(), true, StandardCharsets.UTF_8));
    root.setErr(new PrintWriter(session.err(), true, StandardCharsets.UTF_8));
    root.setColorScheme(
        CommandLine.Help.defaultColorScheme(
            session.colours() ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF));
    root.setParameterExceptionHandler((error, _) -> wrongUse(error));
    root.setExecutionExceptionHandler((error, _, _) -> failed(error));
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
            OptionSpec.builder("-h", "--help")
                .usageHelp(true)
                .description("Show this help.")
                .build());
    command.getSubcommands().values().forEach(Cli::addHelp);
  }

  private int help(List<String> words) {
    if (words.size() > 1 && words.getFirst().equals("help")) {
      return run(words.get(1), "--help");
    }
    session.out().print(HelpText.of(session));
    return 0;
  }

  private int wrongUse(ParameterException error) {
    CommandLine command = error.getCommandLine();
    String name = command.getCommandSpec().qualifiedName();
    session.err().println("zlayer: " + error.getMessage());
    List<String> similar =
        error instanceof UnmatchedArgumentException unmatched
            ? unmatched.getSuggestions()
            : List.of();
    if (!similar.isEmpty()) {
      session.err().println("did you mean: " + String.join(", ", similar) + "?");
    }
    session.err().println("see '" + name + " --help'");
    return WRONG_USE;
  }

  private int failed(Exception error) {
    if (error instanceof AgentException ours) {
      session.err().println("zlayer: " + ours.getMessage());
      if (ours instanceof AgentException.Internal) {
        ours.printStackTrace(session.err());
      }
      return ours.blame().exitCode();
    }
    if (error instanceof InterruptedException) {
      session.err().println("zlayer: interrupted");
      return 130;
    }
    session.err().println("zlayer: this is a fault of zlayer itself: " + error);
    error.printStackTrace(session.err());
    return Blame.SELF.exitCode();
  }

  private static String unknownVerb(String word) {
    List<String> known = Arrays.stream(Verb.values()).map(verb -> verb.word).toList();
    return "there is no command '%s'%s; 'zlayer --help' lists all"
        .formatted(
            word, Nearest.to(word, known).map(near -> ", did you mean '" + near + "'?").orElse(""));
  }
}

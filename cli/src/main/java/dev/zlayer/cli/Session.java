package dev.zlayer.cli;

import dev.zlayer.cli.print.TerminalText;
import dev.zlayer.cli.terminal.OutputClosed;
import dev.zlayer.cli.terminal.RealTerminal;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.host.linux.Terminals;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * What one call of the command line sees of the world. Tests make their own; the process has one.
 *
 * @param out what is printed here is escaped, see {@link TerminalText}; so is {@code err}
 * @param env the environment variables, read nowhere else
 * @param terminal whether a person watches standard output
 * @param errorTerminal whether a person watches standard error
 * @param keyboard whether a person types at standard input
 * @param screen the terminal itself, if it is one
 */
public record Session(
    PrintStream out,
    PrintStream err,
    InputStream in,
    Map<String, String> env,
    Path directory,
    boolean terminal,
    boolean errorTerminal,
    boolean keyboard,
    Terminal screen) {
  public Session {
    env = Map.copyOf(env);
    boolean colours = terminal && env.getOrDefault("NO_COLOR", "").isEmpty();
    out = TerminalText.escaping(out, colours);
    err = TerminalText.escaping(err, colours);
  }

  static Session ofThisProcess() {
    return new Session(
        new PrintStream(
            new BufferedOutputStream(
                OutputClosed.checked(new FileOutputStream(FileDescriptor.out)), 64 << 10),
            false,
            StandardCharsets.UTF_8),
        new PrintStream(
            OutputClosed.checked(new FileOutputStream(FileDescriptor.err)),
            true,
            StandardCharsets.UTF_8),
        System.in,
        System.getenv(),
        Path.of("").toAbsolutePath(),
        Terminals.isTerminal(1),
        Terminals.isTerminal(2),
        Terminals.isTerminal(0),
        new RealTerminal());
  }

  /** The same with other variables. */
  Session withEnv(Map<String, String> other) {
    return new Session(out, err, in, other, directory, terminal, errorTerminal, keyboard, screen);
  }

  /** A variable that is set and not empty. */
  public Optional<String> variable(String name) {
    return Optional.ofNullable(env.get(name)).filter(value -> !value.isEmpty());
  }

  /** Colours are for people who did not refuse them. */
  public boolean colours() {
    return terminal && variable("NO_COLOR").isEmpty();
  }

  /** A path as the user typed it, seen from where they stand. */
  public Path resolve(String path) {
    return directory.resolve(path);
  }

  void flush() {
    out.flush();
    err.flush();
  }
}

package dev.zlayer.cli;

import dev.zlayer.cli.terminal.Terminal;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs command lines as a person would, in a directory and environment of the test's own. */
public final class CliFixture {
  private static @Nullable Map<String, String> models;

  private final Path directory;
  private final Map<String, String> env;

  public CliFixture(Path directory, Map<String, String> env) {
    this.directory = directory;
    this.env = env;
  }

  public Map<String, String> env() {
    return env;
  }

  /** What one command line left behind. */
  public record Result(int code, String out, String err) {}

  public Result run(String... arguments) {
    return runWithInput(new byte[0], arguments);
  }

  /** As a distribution has it, so that every test also tests how those bind arguments. */
  private static synchronized String model(String verb) {
    if (models == null) {
      models = CommandModel.of(new Cli(session(Path.of(""))).grammar());
    }
    return models.getOrDefault(verb, "");
  }

  /** Where nobody looks at what is printed. */
  static Session session(Path directory) {
    return new CliFixture(directory, Map.of())
        .session(new byte[0], new ByteArrayOutputStream(), new ByteArrayOutputStream());
  }

  private Session session(byte[] input, ByteArrayOutputStream out, ByteArrayOutputStream err) {
    return new Session(
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8),
        new ByteArrayInputStream(input),
        env,
        directory,
        false,
        false,
        false,
        Terminal.NONE);
  }

  /** As a person at that terminal; returns the exit code. */
  public int runAt(Terminal screen, InputStream keys, String... arguments) {
    var shown = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
    return new Cli(new Session(shown, shown, keys, env, directory, true, true, true, screen))
        .run(arguments);
  }

  /** The same with the bytes as they are. */
  public record Bytes(int code, byte[] out, byte[] err) {}

  public Bytes bytes(String... arguments) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    Session session = session(new byte[0], out, err);
    int code = new Cli(session, CliFixture::model).run(arguments);
    session.flush();
    return new Bytes(code, out.toByteArray(), err.toByteArray());
  }

  public Result runWithInput(byte[] input, String... arguments) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    Session session = session(input, out, err);
    int code = new Cli(session, CliFixture::model).run(arguments);
    session.flush();
    return new Result(
        code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }
}

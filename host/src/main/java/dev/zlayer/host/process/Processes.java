package dev.zlayer.host.process;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Runs programs to their end, and starts those that go on. */
public final class Processes {
  /** Meant for the agent alone: runc would wait for its container to be ready on that socket. */
  private static final List<String> SERVICE_MANAGER =
      List.of("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID");

  /**
   * What programs need to find others, their files and their language. The rest of the agent's
   * environment may hold secrets, and containers see what their monitor and runtime were given.
   */
  private static final Pattern COMMON =
      Pattern.compile(
          "PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|XDG_RUNTIME_DIR"
              + "|DBUS_SESSION_BUS_ADDRESS");

  /** For what a program that has ended still has in its pipes, when others hold them, too. */
  private static final Duration REST_OF_OUTPUT = Duration.ofSeconds(5);

  private Processes() {}

  /**
   * Runs a program and waits. At the deadline, or when interrupted, the program and its children
   * are killed first.
   *
   * @throws AgentException.Configuration the program does not exist or cannot be executed
   * @throws AgentException.Timeout the deadline passed
   */
  public static CommandResult run(Command command, Deadline deadline) throws InterruptedException {
    return run(command, stream -> stream.write(command.input()), deadline);
  }

  /** Writes what a program reads; fails when the program has ended or wants no more. */
  @FunctionalInterface
  public interface Input {
    void writeTo(OutputStream stream) throws IOException, InterruptedException;
  }

  /** Like {@link #run(Command, Deadline)} with input that need not be in memory. */
  public static CommandResult run(Command command, Input input, Deadline deadline)
      throws InterruptedException {
    String name = command.program();
    int limit = command.outputLimit();
    try (var piped = PipedProcess.start(command);
        var scope = new TaskScope(name)) {
      Process process = piped.process();
      try {
        OutputDrain stdout = OutputDrain.start(name, piped.stdout(), limit);
        OutputDrain stderr = OutputDrain.start(name, piped.stderr(), limit);
        scope.fork(() -> feed(piped.stdin(), input));
        if (!process.waitFor(deadline.leftNanos(), TimeUnit.NANOSECONDS)) {
          throw new AgentException.Timeout("running " + command.program(), deadline.limit());
        }
        scope.join();
        Deadline rest = Deadline.after(REST_OF_OUTPUT);
        return new CommandResult(process.exitValue(), stdout.output(rest), stderr.output(rest));
      } finally {
        destroy(process);
      }
    }
  }

  /** Like {@link #run}, but any exit code other than 0 is an {@link AgentException.Internal}. */
  public static CommandResult check(Command command, Deadline deadline)
      throws InterruptedException {
    CommandResult result = run(command, deadline);
    if (!result.success()) {
      throw new AgentException.Internal(
          "%s exited with %d: %s".formatted(command.program(), result.code(), result.lastLine()));
    }
    return result;
  }

  /** Starts a program that goes on; its streams are the caller's to read and close. */
  public static Process start(Command command) {
    return launch(builder(command), command);
  }

  /** Starts a program that goes on with its output going to a file (appended). */
  public static Process start(Command command, File output) {
    ProcessBuilder builder =
        builder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(output))
            .redirectInput(new File("/dev/null"));
    return launch(builder, command);
  }

  /**
   * Starts a program that goes on with all its streams on a terminal, which does not become this
   * process's own: a shell opens it.
   */
  public static Process startOn(Path terminal, Command command) {
    var arguments = new ArrayList<>(List.of("/bin/sh", "-c", "exec \"$@\" <\"$0\" >\"$0\" 2>&1"));
    arguments.add(terminal.toString());
    arguments.addAll(command.arguments());
    return launch(builder(command.withArguments(arguments)), command);
  }

  static ProcessBuilder builder(Command command) {
    var builder = new ProcessBuilder(command.arguments());
    SERVICE_MANAGER.forEach(builder.environment()::remove);
    if (!command.inheritsAll() && File.separatorChar == '/') {
      builder.environment().keySet().removeIf(name -> !COMMON.matcher(name).matches());
    }
    builder.environment().putAll(command.env());
    command.directory().ifPresent(directory -> builder.directory(directory.toFile()));
    return builder;
  }

  /** What a child gets of a builder, each as {@code NAME=value}. */
  static List<String> variables(ProcessBuilder builder) {
    return builder.environment().entrySet().stream()
        .map(variable -> variable.getKey() + "=" + variable.getValue())
        .toList();
  }

  static Process launch(ProcessBuilder builder, Command command) {
    try {
      return builder.start();
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot run %s: %s".formatted(command.program(), e.getMessage()), e);
    }
  }

  private static boolean feed(OutputStream stream, Input input) throws InterruptedException {
    try (stream) {
      input.writeTo(stream);
      return true;
    } catch (IOException _) {
      return false; // it ended or closed its input without reading all; its exit code tells
    }
  }

  private static void destroy(Process process) {
    // looking for descendants reads every process of the host, so only for the sake of those
    if (process.isAlive()) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}

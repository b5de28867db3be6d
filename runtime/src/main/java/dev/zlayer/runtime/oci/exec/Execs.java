package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.Signal;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ConsoleSocket;
import dev.zlayer.host.linux.PseudoTerminal;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.Scheduling;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.PipedProcess;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ExecSession;
import dev.zlayer.runtime.oci.tool.OciCommands;
import dev.zlayer.task.Deadline;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Runs further processes in containers, and ends those that an agent left behind. */
public final class Execs {
  private final OciCommands runtime;
  private final Consumer<String> steps;

  /** {@code steps} is told what has been done, for tests that end the agent there. */
  public Execs(OciCommands runtime, Consumer<String> steps) {
    this.runtime = runtime;
    this.steps = steps;
  }

  /**
   * Starts a process.
   *
   * @param directory where its files may be put
   * @param process in the words of OCI
   * @param stdin whether it can be written to
   */
  public ExecSession start(String container, Path directory, Json process, boolean stdin)
      throws InterruptedException {
    try {
      Files.createDirectories(directory);
      var files = new ExecCall.ExecDir(Files.createTempDirectory(directory, "exec"));
      Files.write(files.process(), JsonText.bytes(process));
      steps.accept("exec.recorded");
      boolean terminal = process.at("terminal").bool().orElse(false);
      ExecSession session =
          terminal && runtime.sendsTerminals()
              ? onSentTerminal(container, files, size(process))
              : terminal
                  ? onTerminal(container, files, size(process))
                  : onPipes(container, files, stdin);
      steps.accept("exec.started");
      return session;
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot run a command in %s: %s".formatted(container, e.getMessage()), e);
    }
  }

  /** Ends what runs for an agent that is no more; its streams lead nowhere. */
  public static void endAbandoned(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return;
    }
    List<Path> abandoned;
    try (Stream<Path> paths = Files.list(directory)) {
      abandoned = paths.toList();
    }
    for (Path path : abandoned) {
      // the runtime first, so that it starts nothing more
      for (ProcessHandle runtime :
          ProcessHandle.allProcesses().filter(process -> mentions(process, path)).toList()) {
        ExecCall.end(runtime);
      }
      var inside = ExecCall.inside(new ExecCall.ExecDir(path));
      if (inside.isPresent()) {
        inside.get().signal(Signal.KILL.number());
      }
      RootedDirectory.removeTree(path);
    }
  }

  private static boolean mentions(ProcessHandle process, Path path) {
    return process.info().arguments().map(List::of).orElse(List.of()).stream()
        .anyMatch(argument -> argument.startsWith(path + "/"));
  }

  private Command command(
      String container, ExecCall.ExecDir files, Path log, Optional<Path> console) {
    return runtime.exec(container, files.process(), files.pid(), log, console);
  }

  /** Runs the runtime; it is given the file to log to. */
  private interface Start {
    Process with(Path log) throws IOException;
  }

  private static ExecCall start(ExecCall.ExecDir files, Start start) throws IOException {
    ExecLogLoop log = ExecLogLoop.start(files);
    try {
      return new ExecCall(start.with(log.file()), files, log);
    } catch (IOException | RuntimeException e) {
      log.close();
      throw e;
    }
  }

  private static Optional<TerminalSize> size(Json process) {
    Json size = process.at("consoleSize");
    return size.isNull()
        ? Optional.empty()
        : Optional.of(
            new TerminalSize(
                size.at("height").integer().orElse(0L).intValue(),
                size.at("width").integer().orElse(0L).intValue()));
  }

  /**
   * The terminal inside is ours to read, so that nothing is lost of what it shows last: crun 1.8
   * ends with its process and drops what it has not copied by then.
   */
  private ExecSession onSentTerminal(
      String container, ExecCall.ExecDir files, Optional<TerminalSize> size)
      throws IOException, InterruptedException {
    try (ConsoleSocket console = ConsoleSocket.open(files.path())) {
      // crun sets the size while the process already is on its way to the program: it has to win
      ExecCall exec =
          start(
              files,
              log ->
                  Processes.start(
                      Scheduling.first(command(container, files, log, Optional.of(console.path()))),
                      new File("/dev/null")));
      Optional<PseudoTerminal> sent = Optional.empty();
      try {
        sent = console.receive(exec.runtime(), Deadline.after(runtime.limit()));
        boolean _ = Scheduling.usual(exec.runtime().pid());
        if (sent.isEmpty()) {
          return PipeSession.without(exec); // it has ended, and how is all there is to know
        }
        if (size.isPresent()) { // the runtime does so itself, perhaps a moment later
          sent.get().resize(size.get().rows(), size.get().columns());
        }
        return TerminalSession.inside(exec, sent.get());
      } catch (IOException | InterruptedException | RuntimeException e) {
        sent.ifPresent(PseudoTerminal::close);
        exec.end();
        throw e;
      }
    }
  }

  private ExecSession onPipes(String container, ExecCall.ExecDir files, boolean stdin)
      throws IOException {
    ExecLogLoop log = ExecLogLoop.start(files);
    try {
      PipedProcess pipes =
          PipedProcess.start(command(container, files, log.file(), Optional.empty()));
      var session = new PipeSession(new ExecCall(pipes.process(), files, log), pipes);
      if (!stdin) {
        session.stdin().close();
      }
      return session;
    } catch (IOException | RuntimeException e) {
      log.close();
      throw e;
    }
  }

  private ExecSession onTerminal(
      String container, ExecCall.ExecDir files, Optional<TerminalSize> size) throws IOException {
    PseudoTerminal terminal = PseudoTerminal.open();
    try {
      if (size.isPresent()) { // the runtime copies it when it starts
        terminal.resize(size.get().rows(), size.get().columns());
      }
      ExecCall exec =
          start(
              files,
              log ->
                  Processes.startOn(
                      terminal.path(), command(container, files, log, Optional.empty())));
      return TerminalSession.ofRuntime(exec, terminal);
    } catch (IOException | RuntimeException e) {
      terminal.close();
      throw e;
    }
  }
}

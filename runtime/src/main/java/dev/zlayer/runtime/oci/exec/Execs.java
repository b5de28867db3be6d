package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.PseudoTerminal;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ExecSession;
import dev.zlayer.runtime.oci.tool.OciCommands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
  public ExecSession start(String container, Path directory, Json process, boolean stdin) {
    try {
      Files.createDirectories(directory);
      var files = new Exec.ExecDir(Files.createTempDirectory(directory, "exec"));
      Files.write(files.process(), JsonText.bytes(process));
      steps.accept("exec.recorded");
      Command command = runtime.exec(container, files.process(), files.pid(), files.log());
      ExecSession session =
          process.at("terminal").bool().orElse(false)
              ? onTerminal(command, files, process.at("consoleSize"))
              : onPipes(command, files, stdin);
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
        Exec.end(runtime);
      }
      var inside = Exec.inside(new Exec.ExecDir(path));
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

  private static ExecSession onPipes(Command command, Exec.ExecDir files, boolean stdin)
      throws IOException {
    Process started = Processes.start(command);
    if (!stdin) {
      started.getOutputStream().close();
    }
    return new PipeSession(new Exec(started, files));
  }

  private static ExecSession onTerminal(Command command, Exec.ExecDir files, Json size)
      throws IOException {
    PseudoTerminal terminal = PseudoTerminal.open();
    try {
      if (!size.isNull()) { // the runtime copies it when it starts
        terminal.resize(
            size.at("height").integer().orElse(0L).intValue(),
            size.at("width").integer().orElse(0L).intValue());
      }
      Process started = Processes.startOn(terminal.path(), command);
      return new TerminalSession(new Exec(started, files), terminal);
    } catch (IOException | RuntimeException e) {
      terminal.close();
      throw e;
    }
  }
}

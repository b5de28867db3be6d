package dev.zlayer.host.process;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.DetachedProcess;
import dev.zlayer.host.linux.ReadyLoop;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Runs programs that leave a process behind which tells one line over descriptor 3, with no other
 * program between, as a shell or the helper that Java starts: each costs as much as a start again.
 */
public final class Detaching implements AutoCloseable {
  private final ReadyLoop loop;

  private Detaching(ReadyLoop loop) {
    this.loop = loop;
  }

  /** Empty where the C library lacks what it takes. */
  public static Optional<Detaching> open() throws IOException {
    return DetachedProcess.possible()
        ? Optional.of(new Detaching(ReadyLoop.open("detaching")))
        : Optional.empty();
  }

  /**
   * Waits for the first line and the end of the first process; what else it started goes on. The
   * result has the line as output, and the errors that were printed until then. At the deadline, or
   * when interrupted, the first process and its children are killed first.
   *
   * @throws IOException the program does not exist or cannot be executed
   * @throws AgentException.Timeout the deadline passed
   */
  public CommandResult run(Command command, Deadline deadline)
      throws IOException, InterruptedException {
    try (DetachedProcess process = start(command)) {
      try {
        byte[] line =
            process
                .line(command.outputLimit(), deadline)
                .orElseThrow(() -> late(command, deadline));
        int code = process.exitCode(deadline).orElseThrow(() -> late(command, deadline));
        return new CommandResult(code, line, process.errors(command.outputLimit()));
      } finally {
        destroy(process);
      }
    }
  }

  private DetachedProcess start(Command command) throws IOException {
    List<String> environment = Processes.variables(Processes.builder(command));
    try {
      return DetachedProcess.start(command.arguments(), environment, command.directory(), loop);
    } catch (IOException e) {
      throw new IOException("cannot run %s: %s".formatted(command.program(), e.getMessage()), e);
    }
  }

  private static AgentException late(Command command, Deadline deadline) {
    return new AgentException.Timeout("running " + command.program(), deadline.limit());
  }

  private static void destroy(DetachedProcess process) throws IOException {
    // looking for descendants reads every process of the host, so only for the sake of those
    if (!process.ended()) {
      ProcessHandle.of(process.pid()).stream()
          .flatMap(ProcessHandle::descendants)
          .forEach(ProcessHandle::destroyForcibly);
      process.kill();
    }
  }

  @Override
  public void close() {
    loop.close();
  }
}

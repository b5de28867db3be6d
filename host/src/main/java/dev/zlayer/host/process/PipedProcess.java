package dev.zlayer.host.process;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.ErrnoException;
import dev.zlayer.host.linux.ProcessOutput;
import dev.zlayer.host.linux.SealedCopy;
import dev.zlayer.host.linux.SpawnedProcess;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Optional;

/**
 * A program on three pipes whose output ends at the latest a moment after the program, whatever
 * processes it left behind. On Windows its output ends with the last of them.
 */
public final class PipedProcess implements AutoCloseable {
  private final Process process;
  private final List<ProcessOutput> outputs;

  private PipedProcess(Process process, List<ProcessOutput> outputs) {
    this.process = process;
    this.outputs = outputs;
  }

  /**
   * Starts one.
   *
   * @throws AgentException.Configuration the program does not exist or cannot be executed
   */
  public static PipedProcess start(Command command) {
    if (File.separatorChar != '/') {
      return new PipedProcess(Processes.launch(Processes.builder(command), command), List.of());
    }
    try {
      ProcessOutput stdout = ProcessOutput.open();
      try {
        return start(command, List.of(stdout, ProcessOutput.open()));
      } catch (IOException | RuntimeException e) {
        stdout.close();
        throw e;
      }
    } catch (IOException e) {
      throw new AgentException.Internal(
          "cannot run %s: %s".formatted(command.program(), e.getMessage()), e);
    }
  }

  private static PipedProcess start(Command command, List<ProcessOutput> outputs)
      throws IOException {
    try {
      Process process = process(command, outputs.getFirst(), outputs.getLast());
      var piped = new PipedProcess(process, outputs);
      var _ = process.onExit().thenRun(piped::ended);
      return piped;
    } catch (IOException | RuntimeException e) {
      outputs.forEach(ProcessOutput::close);
      throw e;
    }
  }

  private static Process process(Command command, ProcessOutput stdout, ProcessOutput stderr)
      throws IOException {
    ProcessBuilder builder = Processes.builder(command);
    if (SpawnedProcess.possible()) {
      List<String> environment = Processes.variables(builder);
      Optional<Process> sealed = sealed(command, environment, stdout, stderr);
      if (sealed.isPresent()) {
        return sealed.get();
      }
      try {
        return SpawnedProcess.start(
            Optional.empty(),
            command.arguments(),
            environment,
            command.directory(),
            stdout,
            stderr);
      } catch (ErrnoException e) {
        if (e.errno() != ErrnoException.ENOEXEC) { // a script that does not say whose: Java asks sh
          throw new AgentException.Configuration(
              "cannot run %s: %s".formatted(command.program(), e.getMessage()), e);
        }
      }
    }
    builder.redirectOutput(stdout.otherEnd());
    builder.redirectError(stderr.otherEnd());
    Process process = Processes.launch(builder, command);
    stdout.given();
    stderr.given();
    return process;
  }

  /** From its copy in memory, if there is one that can be started. */
  private static Optional<Process> sealed(
      Command command, List<String> environment, ProcessOutput stdout, ProcessOutput stderr)
      throws IOException {
    Optional<SealedProgram> program =
        command.sealed().filter(known -> known.is(command.arguments().getFirst()));
    Optional<SealedCopy> copy = program.flatMap(SealedProgram::copy);
    if (program.isEmpty() || copy.isEmpty()) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          SpawnedProcess.start(
              copy, command.arguments(), environment, command.directory(), stdout, stderr));
    } catch (ErrnoException e) {
      program.get().failed(copy.get(), e);
      return Optional.empty();
    }
  }

  public Process process() {
    return process;
  }

  /** Its input. */
  public OutputStream stdin() {
    return process.getOutputStream();
  }

  public InputStream stdout() {
    return outputs.isEmpty() ? process.getInputStream() : outputs.getFirst();
  }

  public InputStream stderr() {
    return outputs.isEmpty() ? process.getErrorStream() : outputs.getLast();
  }

  /** What it ran for has ended, although the program itself may wait for something. */
  public void ended() {
    outputs.forEach(ProcessOutput::ended);
  }

  /** Who still reads is at the end; the program is left as it is. */
  @Override
  public void close() {
    for (InputStream output : List.of(stdout(), stderr())) {
      try {
        output.close();
      } catch (IOException _) {
        // nothing was to be read from it any more
      }
    }
  }
}

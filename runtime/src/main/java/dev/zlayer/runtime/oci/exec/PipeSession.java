package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.host.process.PipedProcess;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Optional;

/**
 * A command on three pipes. Its output ends with it, whatever it leaves in the background: no
 * health check, and nobody who waits for a command, is held up by that.
 */
final class PipeSession implements ExecSession {
  private final ExecCall exec;
  private final Optional<PipedProcess> pipes;

  PipeSession(ExecCall exec, PipedProcess pipes) {
    this(exec, Optional.of(pipes));
    var _ = exec.exit().thenRun(pipes::ended); // the runtime may stay
  }

  private PipeSession(ExecCall exec, Optional<PipedProcess> pipes) {
    this.exec = exec;
    this.pipes = pipes;
  }

  /** Of a command that printed nothing, since it could not begin. */
  static PipeSession without(ExecCall exec) {
    return new PipeSession(exec, Optional.empty());
  }

  @Override
  public OutputStream stdin() {
    return pipes.map(PipedProcess::stdin).orElseGet(OutputStream::nullOutputStream);
  }

  @Override
  public InputStream stdout() {
    return pipes.map(PipedProcess::stdout).orElseGet(InputStream::nullInputStream);
  }

  @Override
  public InputStream stderr() {
    return pipes.map(PipedProcess::stderr).orElseGet(InputStream::nullInputStream);
  }

  @Override
  public void resize(int rows, int columns) {}

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return exec.await(deadline);
  }

  @Override
  public void close() {
    try {
      exec.end();
    } finally {
      pipes.ifPresent(PipedProcess::close);
    }
  }
}

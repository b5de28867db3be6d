package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.InputStream;
import java.io.OutputStream;

/** A command on three pipes. */
final class PipeSession implements ExecSession {
  private final Exec exec;

  PipeSession(Exec exec) {
    this.exec = exec;
  }

  @Override
  public OutputStream stdin() {
    return exec.runtime().getOutputStream();
  }

  @Override
  public InputStream stdout() {
    return exec.runtime().getInputStream();
  }

  @Override
  public InputStream stderr() {
    return exec.runtime().getErrorStream();
  }

  @Override
  public void resize(int rows, int columns) {}

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return exec.await(deadline);
  }

  @Override
  public void close() {
    exec.end();
  }
}

package dev.zlayer.testkit.fake;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** An exec that had ended before anybody looked; what is written to it is lost. */
final class FakeExec implements ExecSession {
  private final FakeWorld.ExecResult result;
  private final OutputStream stdin = OutputStream.nullOutputStream();
  private final InputStream stdout;
  private final InputStream stderr;

  FakeExec(FakeWorld.ExecResult result) {
    this.result = result;
    this.stdout = stream(result.stdout());
    this.stderr = stream(result.stderr());
  }

  private static InputStream stream(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public OutputStream stdin() {
    return stdin;
  }

  @Override
  public InputStream stdout() {
    return stdout;
  }

  @Override
  public InputStream stderr() {
    return stderr;
  }

  @Override
  public void resize(int rows, int columns) {}

  @Override
  public ExitStatus await(Deadline deadline) {
    return new ExitStatus.Code(result.code());
  }

  @Override
  public void close() {}
}

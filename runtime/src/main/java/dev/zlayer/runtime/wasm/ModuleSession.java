package dev.zlayer.runtime.wasm;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.Arrays;

/** Somebody attached to a running module; closing the input ends it for the module. */
final class ModuleSession implements ExecSession {
  /** Waits for the end of the run. */
  @FunctionalInterface
  interface End {
    ExitStatus await(Deadline deadline) throws InterruptedException;
  }

  private final ModuleStreams streams;
  private final ModuleStreams.Tap tap;
  private final End end;

  ModuleSession(ModuleStreams streams, End end) {
    this.streams = streams;
    this.tap = streams.tap();
    this.end = end;
  }

  @Override
  public OutputStream stdin() {
    return new OutputStream() {
      @Override
      public void write(int one) throws IOException {
        write(new byte[] {(byte) one}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int from, int length) throws IOException {
        try {
          if (!streams.stdin().put(Arrays.copyOfRange(bytes, from, from + length))) {
            throw new IOException("the module reads no input (any more)");
          }
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
          throw new InterruptedIOException("interrupted while writing");
        }
      }

      @Override
      public void close() {
        streams.stdin().end();
      }
    };
  }

  @Override
  public InputStream stdout() {
    return tap.stdout().input();
  }

  @Override
  public InputStream stderr() {
    return tap.stderr().input();
  }

  @Override
  public void resize(int rows, int columns) {}

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return end.await(deadline);
  }

  @Override
  public void close() {
    streams.untap(tap);
  }
}

package dev.zlayer.host.linux;

import dev.zlayer.task.Deadline;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * What a process prints, as a stream that ends with the process although others that it left behind
 * may hold the pipe for ever: then what they print for a moment still is part of it. Who reads
 * waits without a thread of the operating system, since the processes of containers decide how long
 * that takes. For one reader.
 */
public final class ProcessOutput extends InputStream {
  /** How long is waited in sum for more after the end, as Docker does. */
  private static final Duration AFTER_END = Duration.ofSeconds(2);

  /** More than all pipes on the way hold: it does not come from the process that has ended. */
  private static final int MOST_AFTER_END = 4 << 20;

  private final OwnedDescriptor reading;
  private final OwnedDescriptor writing;
  private final Semaphore changes = new Semaphore(0);
  private volatile boolean ended;
  private volatile boolean closed;
  private Duration waitsAfterEnd = AFTER_END;
  private int bytesAfterEnd;

  private ProcessOutput(Descriptors.Pipe pipe) {
    this.reading = pipe.reading();
    this.writing = pipe.writing();
  }

  /** One thread for all; it ends with this process. */
  private static final class Waiting {
    private static final ReadyLoop LOOP = open();

    private static ReadyLoop open() {
      try {
        return ReadyLoop.open("process-output");
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** The thread that sleeps for all who wait for processes and what they print. */
  static ReadyLoop loop() {
    return Waiting.LOOP;
  }

  /** A new pipe. */
  public static ProcessOutput open() throws IOException {
    var output = new ProcessOutput(Descriptors.pipe());
    try {
      output.reading.neverBlock();
      return output;
    } catch (IOException e) {
      output.close();
      throw e;
    }
  }

  /** The other end, until {@link #given}. */
  OwnedDescriptor writing() {
    return writing;
  }

  /** Where this process and its children open the other end, until {@link #given}. */
  public File otherEnd() throws IOException {
    try (var using = writing.use()) {
      return new File("/proc/%d/fd/%d".formatted(ProcessHandle.current().pid(), using.number()));
    }
  }

  /** The process has the other end, and is the only one. */
  public void given() {
    writing.close();
  }

  /** The process has ended. */
  public void ended() {
    ended = true;
    changes.release();
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    try {
      while (!closed) {
        changes.drainPermits(); // before the question, so that no change after it is missed
        boolean over = ended;
        int count = reading.readSome(bytes, offset, length);
        if (count >= 0) {
          bytesAfterEnd += over ? count : 0;
          return count == 0 || bytesAfterEnd > MOST_AFTER_END ? -1 : count;
        }
        if (over && waitsAfterEnd.isZero()) {
          return -1;
        }
        await(over);
      }
    } catch (ErrnoException e) {
      if (!closed) {
        throw e;
      }
    }
    return -1;
  }

  private void await(boolean over) throws IOException {
    long key = Waiting.LOOP.add(reading, changes::release);
    Deadline deadline = over ? Deadline.after(waitsAfterEnd) : Deadline.none();
    try {
      boolean _ = changes.tryAcquire(deadline.leftNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while reading");
    } finally {
      if (over) {
        waitsAfterEnd = deadline.left();
      }
      Waiting.LOOP.remove(key, reading);
    }
  }

  @Override
  public void close() {
    closed = true;
    changes.release();
    reading.close();
    writing.close();
  }
}

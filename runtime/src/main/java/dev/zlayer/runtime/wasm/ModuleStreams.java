package dev.zlayer.runtime.wasm;

import dev.zlayer.container.LogRecord;
import dev.zlayer.runtime.log.LogWriter;
import dev.zlayer.runtime.wasm.wasi.Guest;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The standard streams of one run: output goes to the log and to whoever is attached. */
final class ModuleStreams {
  /** Somebody who sees the output from now on; one who does not read in time loses sight. */
  record Tap(ByteQueue stdout, ByteQueue stderr) {
    private ByteQueue of(LogRecord.Stream stream) {
      return stream == LogRecord.Stream.STDOUT ? stdout : stderr;
    }

    void end() {
      stdout.end();
      stderr.end();
    }
  }

  private static final System.Logger LOG = LazyLogger.of(ModuleStreams.class);

  private final LogWriter log;
  private final ByteQueue stdin = new ByteQueue();
  private final List<Tap> taps = new CopyOnWriteArrayList<>();

  /**
   * @param open whether input may come; else there is none from the start
   */
  ModuleStreams(LogWriter log, boolean open) {
    this.log = log;
    if (!open) {
      stdin.end();
    }
  }

  Guest.Streams guest() {
    return new Guest.Streams(
        stdin.input(), output(LogRecord.Stream.STDOUT), output(LogRecord.Stream.STDERR));
  }

  OutputStream errors() {
    return output(LogRecord.Stream.STDERR);
  }

  ByteQueue stdin() {
    return stdin;
  }

  Tap tap() {
    var tap = new Tap(new ByteQueue(), new ByteQueue());
    taps.add(tap);
    return tap;
  }

  void untap(Tap tap) {
    taps.remove(tap);
    tap.end();
  }

  private OutputStream output(LogRecord.Stream stream) {
    OutputStream lines = log.stream(stream);
    return new OutputStream() {
      @Override
      public void write(int one) throws IOException {
        write(new byte[] {(byte) one}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int from, int length) throws IOException {
        lines.write(bytes, from, length);
        for (Tap tap : taps) {
          if (!tap.of(stream).offer(Arrays.copyOfRange(bytes, from, from + length))) {
            untap(tap);
          }
        }
      }
    };
  }

  /** Nothing is read or written any more. */
  void close() {
    stdin.end();
    taps.forEach(this::untap);
    try {
      log.close();
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "the log of a module could not be closed", e);
    }
  }
}

package dev.zlayer.host.process;

import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Reads one output of a program on a thread of its own, which ends with the output. */
final class OutputDrain {
  private final InputStream stream;
  private final int limit;
  private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
  private final Thread thread;

  private OutputDrain(String name, InputStream stream, int limit) {
    this.stream = stream;
    this.limit = limit;
    this.thread = Thread.ofVirtual().name(name).unstarted(this::run);
  }

  static OutputDrain start(String name, InputStream stream, int limit) {
    var drain = new OutputDrain(name, stream, limit);
    drain.thread.start();
    return drain;
  }

  /** All that was printed, or what came until the deadline. */
  byte[] output(Deadline deadline) throws InterruptedException {
    thread.join(deadline.left());
    return kept.toByteArray();
  }

  private void run() {
    var buffer = new byte[8192];
    try (stream) {
      int count = stream.read(buffer);
      while (count >= 0) {
        kept.write(buffer, 0, Math.min(count, Math.max(0, limit - kept.size())));
        count = stream.read(buffer);
      }
    } catch (IOException _) {
      // the stream was closed under us because the process was killed: what came is what there is
    }
  }
}

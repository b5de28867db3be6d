package dev.zlayer.cli.client;

import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.JsonText;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;

/** A log as the daemon sends it to those who want every byte fast. */
public final class OutputFrames implements AutoCloseable {
  private static final int BUFFER = 64 << 10;
  private static final int STDERR = 1;
  private static final int PARTIAL = 2;
  private static final int PROBLEM = 4;
  private static final int GAP = 8;

  private final HttpResponse response;
  private final BufferedInputStream buffered;
  private final DataInputStream in;

  OutputFrames(HttpResponse response) {
    this.response = response;
    this.buffered = new BufferedInputStream(response.body(), BUFFER);
    this.in = new DataInputStream(buffered);
  }

  /**
   * Blocks for the next record; nothing at the end.
   *
   * @param waiting called before it blocks, perhaps also when it does not
   * @throws DaemonProblem the daemon failed on the way
   * @throws DaemonLost the connection broke
   */
  public Optional<Output> next(Runnable waiting) throws InterruptedException {
    try {
      if (buffered.available() == 0) {
        waiting.run();
      }
      buffered.mark(1);
      if (buffered.read() < 0) {
        return Optional.empty();
      }
      buffered.reset();
      Instant time = Instant.ofEpochSecond(in.readLong(), in.readInt());
      int flags = in.readUnsignedByte();
      int length = in.readInt();
      byte[] content = in.readNBytes(length);
      if (content.length < length) {
        throw new EOFException("it ended within a record");
      }
      if ((flags & PROBLEM) != 0) {
        throw new DaemonProblem(JsonText.parse(content));
      }
      return Optional.of(
          new Output(
              Optional.of(time),
              (flags & STDERR) != 0,
              content,
              (flags & PARTIAL) != 0,
              (flags & GAP) != 0));
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException("reading was interrupted");
      }
      throw new ConnectionLost("the connection to the daemon broke: " + e.getMessage(), e);
    }
  }

  /** Ends the stream, also for a thread that waits in {@link #next}. */
  @Override
  public void close() {
    response.close();
  }
}

package dev.zlayer.cli.client;

import dev.zlayer.container.LogPosition;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/** A log as the daemon sends it to those who want every byte fast. */
public final class OutputFrames implements AutoCloseable {
  private static final int BUFFER = 64 << 10;
  private static final int STDERR = 1;
  private static final int PARTIAL = 2;
  private static final int PROBLEM = 4;
  private static final int GAP = 8;
  private static final int ATTEMPT = 16;
  private static final int END = 32;
  private static final int WAITS = 64;
  private static final int WORD = 128;

  private final HttpResponse response;
  private final BufferedInputStream buffered;
  private final DataInputStream in;
  private final Consumer<Json> words;

  OutputFrames(HttpResponse response) {
    this(response, _ -> {});
  }

  /**
   * @param words gets what is said about the output, between its pieces
   */
  OutputFrames(HttpResponse response, Consumer<Json> words) {
    this.response = response;
    this.words = words;
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
    for (var next = frame(waiting); next.isPresent(); next = frame(waiting)) {
      if (!next.get().is(WORD)) {
        return next.map(Frame::output);
      }
      words.accept(AnswerJson.parse(new String(next.get().content(), StandardCharsets.UTF_8)));
    }
    return Optional.empty();
  }

  @SuppressWarnings("ArrayRecordComponent") // bytes to hand over, never compared
  private record Frame(Instant time, int flags, byte[] content) {
    boolean is(int flag) {
      return (flags & flag) != 0;
    }

    Output output() {
      return new Output(Optional.of(time), is(STDERR), content, is(PARTIAL), is(GAP));
    }
  }

  /**
   * Reads the output of all attempts of an execution; gives the execution as it ended.
   *
   * @param attempt called with the number of the attempt whose output follows
   * @param waits called with the reason why it does not begin
   */
  public Json toEnd(
      IntConsumer attempt, Consumer<String> waits, Consumer<Output> to, Runnable waiting)
      throws InterruptedException {
    for (var next = frame(waiting); next.isPresent(); next = frame(waiting)) {
      Frame frame = next.get();
      if (frame.is(END)) {
        return AnswerJson.parse(new String(frame.content(), StandardCharsets.UTF_8));
      } else if (frame.is(ATTEMPT)) {
        attempt.accept(Integer.parseInt(new String(frame.content(), StandardCharsets.US_ASCII)));
      } else if (frame.is(WAITS)) {
        waits.accept(new String(frame.content(), StandardCharsets.UTF_8));
      } else {
        to.accept(frame.output());
      }
    }
    throw new ConnectionLost("the daemon stopped before the execution ended", null);
  }

  private Optional<Frame> frame(Runnable waiting) throws InterruptedException {
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
      var frame = new Frame(time, flags, content);
      if (frame.is(PROBLEM)) {
        throw new DaemonProblem(JsonText.parse(content));
      }
      return Optional.of(frame);
    } catch (IOException e) {
      if (Thread.interrupted()) {
        throw new InterruptedException("reading was interrupted");
      }
      throw new ConnectionLost("the connection to the daemon broke: " + e.getMessage(), e);
    }
  }

  /** Passes on what is new; {@code waiting} is called when nothing more is there at the moment. */
  public void passNew(LogPosition position, Consumer<Output> to, Runnable waiting)
      throws InterruptedException {
    for (var record = next(waiting); record.isPresent(); record = next(waiting)) {
      if (record.get().isNew(position)) {
        to.accept(record.get());
      }
    }
  }

  /** Ends the stream, also for a thread that waits in {@link #next}. */
  @Override
  public void close() {
    response.close();
  }
}

package dev.zlayer.daemon.rest;

import dev.zlayer.container.LogPosition;
import dev.zlayer.container.LogRecord;
import dev.zlayer.daemon.http.ProblemDocument;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.LogReader;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** Output as binary records, for callers that want every byte fast. */
public final class FrameWriter {
  public static final String TYPE = "application/vnd.zlayer.output";

  private static final int BUFFER = 64 << 10;
  private static final int STDERR = 1;
  private static final int PARTIAL = 2;
  private static final int PROBLEM = 4;
  private static final int GAP = 8;
  private static final int ATTEMPT = 16;
  private static final int END = 32;
  private static final int WAITS = 64;
  private static final int WORD = 128;

  private final DataOutputStream out;

  public FrameWriter(OutputStream to) {
    this.out = new DataOutputStream(new BufferedOutputStream(to, BUFFER));
  }

  public void flush() throws IOException {
    out.flush();
  }

  /** All of it; a position leaves out what was read before. */
  void copy(LogReader reader, LogPosition position) throws IOException, InterruptedException {
    LogResponse.pass(
        reader,
        out::flush,
        line -> {
          if (position.isNew(line.time())) {
            int stream = line.stream() == LogRecord.Stream.STDERR ? STDERR : 0;
            int flags = stream | (line.partial() ? PARTIAL : 0) | (reader.gap() ? GAP : 0);
            frame(line.time(), flags, line.bytes());
          }
        });
  }

  /** What fails on the way is the last frame. */
  public void problem(AgentException failure, String request) throws IOException {
    frame(Instant.EPOCH, PROBLEM, JsonText.bytes(ProblemDocument.of(failure).json(request)));
  }

  /** The output of this attempt follows. */
  void attempt(int number) throws IOException {
    frame(Instant.EPOCH, ATTEMPT, Integer.toString(number).getBytes(StandardCharsets.US_ASCII));
  }

  /** Why it does not begin. */
  public void waits(String reason) throws IOException {
    frame(Instant.EPOCH, WAITS, reason.getBytes(StandardCharsets.UTF_8));
  }

  /** How all of it ended. */
  public void end(byte[] json) throws IOException {
    frame(Instant.EPOCH, END, json);
  }

  /** Something about the output in the other frames. */
  void word(Json word) throws IOException {
    frame(Instant.EPOCH, WORD, JsonText.bytes(word));
    flush();
  }

  private void frame(Instant time, int flags, byte[] content) throws IOException {
    out.writeLong(time.getEpochSecond());
    out.writeInt(time.getNano());
    out.writeByte(flags);
    out.writeInt(content.length);
    out.write(content);
  }

  /** Passes the frames of a node on, but for its end, which the cluster decides. */
  public static final class Endless extends OutputStream {
    private static final int HEAD = 17;
    private static final int FLAGS = 12;
    private static final int LENGTH = 13;

    private final OutputStream to;
    private final byte[] head = new byte[HEAD];
    private int headed;
    private int left;
    private boolean dropped;
    private boolean ended;

    public Endless(OutputStream to) {
      this.to = to;
    }

    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      int at = offset;
      int end = offset + length;
      while (at < end) {
        if (left > 0) {
          int count = Math.min(left, end - at);
          if (!dropped) {
            to.write(bytes, at, count);
          }
          at += count;
          left -= count;
        } else {
          head[headed++] = bytes[at++];
          if (headed == HEAD) {
            begin();
          }
        }
      }
    }

    private void begin() throws IOException {
      headed = 0;
      left = ByteBuffer.wrap(head).getInt(LENGTH);
      if (left < 0) {
        throw new IOException("a node sent a frame of a negative length");
      }
      dropped = (head[FLAGS] & END) != 0;
      ended |= dropped;
      if (!dropped) {
        to.write(head);
      }
    }

    @Override
    public void flush() throws IOException {
      to.flush();
    }

    /**
     * Call when the node says nothing more.
     *
     * @throws IOException it was cut off before its end
     */
    public void requireEnd() throws IOException {
      if (!ended || left > 0 || headed > 0) {
        throw new IOException("a node stopped before the end of an execution");
      }
    }
  }
}

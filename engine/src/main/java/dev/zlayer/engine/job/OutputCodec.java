package dev.zlayer.engine.job;

import dev.zlayer.container.LogRecord;
import dev.zlayer.error.AgentException;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Instant;
import java.util.Optional;

/** Kept output as bytes: a format number, then time, flags, length and content of each record. */
final class OutputCodec {
  private static final int FORMAT = 1;
  private static final int STDERR = 1;
  private static final int PARTIAL = 2;

  /** What a record needs besides its content. */
  private static final int HEAD = Long.BYTES + Integer.BYTES + 1 + Integer.BYTES;

  private OutputCodec() {}

  /** Writes records one after the other. */
  static final class Writer implements AutoCloseable {
    private final DataOutputStream out;

    Writer(OutputStream out) throws IOException {
      this.out = new DataOutputStream(out);
      this.out.writeByte(FORMAT);
    }

    void write(LogRecord record) throws IOException {
      Instant time = record.time();
      out.writeLong(time.getEpochSecond());
      out.writeInt(time.getNano());
      int stream = record.stream() == LogRecord.Stream.STDERR ? STDERR : 0;
      out.writeByte(stream | (record.partial() ? PARTIAL : 0));
      out.writeInt(record.bytes().length);
      out.write(record.bytes());
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }

  /** How many bytes a record takes. */
  static int size(LogRecord record) {
    return HEAD + record.bytes().length;
  }

  /** Reads records one after the other; no bytes at all are no records. */
  static final class Reader implements AutoCloseable {
    private final DataInputStream in;
    private boolean begun;

    Reader(InputStream in) {
      this.in = new DataInputStream(in);
    }

    Optional<LogRecord> next() {
      try {
        if (!begun) {
          int format = in.read();
          begun = true;
          if (format >= 0 && format != FORMAT) {
            throw new AgentException.Configuration(
                "the kept output has version %d and this program reads version %d: use the version of zlayer that wrote it, or a later one"
                    .formatted(format, FORMAT));
          }
        }
        int first = in.read();
        if (first < 0) {
          return Optional.empty();
        }
        long seconds = (long) first << 56 | (long) in.readUnsignedShort() << 40;
        seconds |= (long) in.readUnsignedByte() << 32 | Integer.toUnsignedLong(in.readInt());
        Instant time = Instant.ofEpochSecond(seconds, in.readInt());
        int flags = in.readByte();
        int length = in.readInt();
        byte[] content = in.readNBytes(length);
        if (content.length < length) {
          throw new EOFException("it ends within a record");
        }
        boolean error = (flags & STDERR) != 0;
        return Optional.of(
            new LogRecord(
                time,
                error ? LogRecord.Stream.STDERR : LogRecord.Stream.STDOUT,
                content,
                (flags & PARTIAL) != 0));
      } catch (IOException | IllegalArgumentException e) {
        throw new AgentException.Internal("the kept output is damaged: " + e.getMessage(), e);
      }
    }

    @Override
    public void close() {
      try {
        in.close();
      } catch (IOException _) {
        // it was only read from
      }
    }
  }
}

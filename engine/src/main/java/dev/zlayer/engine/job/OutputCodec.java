package dev.zlayer.engine.job;

import dev.zlayer.container.LogRecord;
import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Kept output as bytes: a format number, then time, flags, length and content of each line. */
final class OutputCodec {
  private static final int FORMAT = 1;
  private static final int STDERR = 1;
  private static final int PARTIAL = 2;

  private OutputCodec() {}

  static byte[] write(List<LogRecord> lines) {
    var bytes = new ByteArrayOutputStream();
    try (var out = new DataOutputStream(bytes)) {
      out.writeByte(FORMAT);
      for (LogRecord line : lines) {
        Instant time = line.time();
        out.writeLong(time.getEpochSecond());
        out.writeInt(time.getNano());
        int stream = line.stream() == LogRecord.Stream.STDERR ? STDERR : 0;
        out.writeByte(stream | (line.partial() ? PARTIAL : 0));
        out.writeInt(line.bytes().length);
        out.write(line.bytes());
      }
    } catch (IOException e) {
      throw new IllegalStateException("memory does not fail to be written", e);
    }
    return bytes.toByteArray();
  }

  static List<LogRecord> read(byte[] bytes) {
    var lines = new ArrayList<LogRecord>();
    if (bytes.length == 0) {
      return lines;
    }
    try (var in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      int format = in.readByte();
      if (format != FORMAT) {
        throw new AgentException.Internal("the kept output has the unknown format " + format);
      }
      while (in.available() > 0) {
        Instant time = Instant.ofEpochSecond(in.readLong(), in.readInt());
        int flags = in.readByte();
        byte[] content = in.readNBytes(in.readInt());
        boolean error = (flags & STDERR) != 0;
        lines.add(
            new LogRecord(
                time,
                error ? LogRecord.Stream.STDERR : LogRecord.Stream.STDOUT,
                content,
                (flags & PARTIAL) != 0));
      }
    } catch (IOException e) {
      throw new AgentException.Internal("the kept output is damaged", e);
    }
    return lines;
  }
}

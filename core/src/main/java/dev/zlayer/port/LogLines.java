package dev.zlayer.port;

import dev.zlayer.container.LogRecord;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Whole lines for people, made of the pieces of output that a reader gives. */
public final class LogLines {
  /** A line that grows over this is given in parts. */
  private static final int LONGEST = 64 << 10;

  private LogLines() {}

  /** Reads to the end; each line is where its last piece was. Does not close the reader. */
  public static List<String> read(LogReader reader) throws InterruptedException {
    var lines = new ArrayList<String>();
    Map<LogRecord.Stream, ByteArrayOutputStream> begun = new EnumMap<>(LogRecord.Stream.class);
    for (var next = reader.next(); next.isPresent(); next = reader.next()) {
      LogRecord piece = next.get();
      var line = begun.computeIfAbsent(piece.stream(), _ -> new ByteArrayOutputStream());
      line.writeBytes(piece.bytes());
      if (!piece.partial() || line.size() >= LONGEST) {
        lines.add(line.toString(StandardCharsets.UTF_8));
        begun.remove(piece.stream());
      }
    }
    begun.values().forEach(line -> lines.add(line.toString(StandardCharsets.UTF_8)));
    return lines;
  }
}

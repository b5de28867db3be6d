package dev.zlayer.port;

import dev.zlayer.container.LogRecord;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Whole lines for people, made of the pieces of output that a reader gives. */
public final class LogLines {
  /** A line that grows over this is given in parts. */
  private static final int LONGEST = 64 << 10;

  /**
   * Of more bytes the last ones are given: a line may be as long as everything that is kept of a
   * container's output, whatever number of lines was asked for.
   */
  private static final int MOST_BYTES = 256 << 10;

  private final Deque<String> lines = new ArrayDeque<>();
  private long length;

  private LogLines() {}

  /** Reads to the end; each line is where its last piece was. Does not close the reader. */
  public static List<String> read(LogReader reader) throws InterruptedException {
    var lines = new LogLines();
    Map<LogRecord.Stream, ByteArrayOutputStream> begun = new EnumMap<>(LogRecord.Stream.class);
    for (var next = reader.next(); next.isPresent(); next = reader.next()) {
      LogRecord piece = next.get();
      var line = begun.computeIfAbsent(piece.stream(), _ -> new ByteArrayOutputStream());
      line.writeBytes(piece.bytes());
      if (!piece.partial() || line.size() >= LONGEST) {
        lines.add(line);
        begun.remove(piece.stream());
      }
    }
    begun.values().forEach(lines::add);
    return List.copyOf(lines.lines);
  }

  private void add(ByteArrayOutputStream bytes) {
    String line = bytes.toString(StandardCharsets.UTF_8);
    lines.add(line);
    length += line.length() + 1L;
    while (length > MOST_BYTES && lines.size() > 1) {
      length -= lines.removeFirst().length() + 1L;
    }
  }
}

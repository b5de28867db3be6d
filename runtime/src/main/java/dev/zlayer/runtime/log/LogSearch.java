package dev.zlayer.runtime.log;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.time.Instant;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Finds places in a log without reading all of it. */
final class LogSearch {
  /** A range this small is read through. */
  private static final int NEAR = 32 << 10;

  /** How far to look for the first piece of a line behind the last one that was found. */
  private static final int GLANCE = 1 << 20;

  private final List<LogPart> parts;
  private final LineHeader header = new LineHeader();

  LogSearch(List<LogPart> parts) {
    this.parts = parts;
  }

  LogPart.Position start() {
    return new LogPart.Position(0, 0);
  }

  LogPart.Position end() {
    return parts.isEmpty()
        ? start()
        : new LogPart.Position(parts.size() - 1, parts.getLast().size());
  }

  /** The first line of that time or later, by halving: times grow through the log. */
  LogPart.Position atOrAfter(Instant time) throws IOException {
    for (int i = parts.size() - 1; i >= 0; i--) {
      FileChannel channel = parts.get(i).channel();
      long size = parts.get(i).size();
      long first = firstLine(channel, 0, size);
      if (first >= 0 && header.time().isBefore(time)) {
        return new LogPart.Position(i, within(channel, size, time));
      }
    }
    return start();
  }

  /**
   * Where the last {@code lines} lines before {@code end} begin, each stream for itself, but not
   * before {@code floor}. A line that was begun and not ended counts as one.
   */
  Map<LogRecord.Stream, LogPart.Position> tail(
      LogPart.Position floor, LogPart.Position end, int lines, LogQuery query) throws IOException {
    Map<LogRecord.Stream, LogPart.Position> begin = new EnumMap<>(LogRecord.Stream.class);
    Set<LogRecord.Stream> open = EnumSet.noneOf(LogRecord.Stream.class);
    var backward = new BackwardLines(parts, end);
    int count = 0;
    long passed = 0;
    while (!parts.isEmpty() && backward.advance() && !backward.position().before(floor)) {
      passed += backward.end() - backward.start() + 1L;
      if (backward.torn()
          || !header.parse(backward.bytes(), backward.start(), backward.end())
          || !wanted(query)) {
        continue;
      }
      LogRecord.Stream stream = header.stream();
      boolean first = !begin.containsKey(stream);
      if (count <= lines && (header.full() || first)) {
        count++;
        passed = 0;
      }
      if (count <= lines) {
        begin.put(stream, backward.position());
        open.add(stream);
      } else {
        // only the pieces of lines that are counted already
        if (header.full() || first) {
          open.remove(stream);
        } else if (open.contains(stream)) {
          begin.put(stream, backward.position());
          passed = 0;
        }
        if (open.isEmpty() || passed > GLANCE) {
          break;
        }
      }
    }
    for (LogRecord.Stream stream : LogRecord.Stream.values()) {
      begin.putIfAbsent(stream, end);
    }
    return begin;
  }

  private boolean wanted(LogQuery query) {
    return header.stream() == LogRecord.Stream.STDOUT ? query.stdout() : query.stderr();
  }

  /** The offset of the first line of that time or later; the end when all are earlier. */
  private long within(FileChannel channel, long size, Instant time) throws IOException {
    long low = 0;
    long high = size;
    while (high - low > NEAR) {
      long middle = (low + high) >>> 1;
      long line = firstLine(channel, middle, high);
      if (line >= 0 && header.time().isBefore(time)) {
        low = line;
      } else {
        high = middle;
      }
    }
    // high may lie within a line: the line that is looked for can begin a little behind it
    var scanner = new LineScanner(channel, low, size, NEAR);
    while (scanner.advance()) {
      if (header.parse(scanner.bytes(), scanner.start(), scanner.end())
          && !header.time().isBefore(time)) {
        return scanner.offset();
      }
    }
    return size;
  }

  /** The first well-formed line that begins at or behind a place, parsed into the header. */
  private long firstLine(FileChannel channel, long from, long end) throws IOException {
    long begin = from;
    if (from > 0) {
      var before = ByteBuffer.allocate(1);
      boolean atLine = channel.read(before, from - 1) == 1 && before.get(0) == '\n';
      if (!atLine) {
        var skip = new LineScanner(channel, from, end, NEAR);
        if (!skip.advance()) {
          return -1;
        }
        begin = skip.nextOffset();
      }
    }
    var scanner = new LineScanner(channel, begin, end, NEAR);
    while (scanner.advance()) {
      if (header.parse(scanner.bytes(), scanner.start(), scanner.end())) {
        return scanner.offset();
      }
    }
    return -1;
  }
}

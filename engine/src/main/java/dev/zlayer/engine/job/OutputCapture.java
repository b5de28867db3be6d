package dev.zlayer.engine.job;

import dev.zlayer.container.LogRecord;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Keeps the first and the last half of a limited number of bytes of output, whatever its length,
 * with a mark where something was left out.
 */
final class OutputCapture {
  private final long half;
  private final List<LogRecord> head = new ArrayList<>();
  private final Deque<LogRecord> tail = new ArrayDeque<>();
  private long headBytes;
  private long tailBytes;
  private long total;

  OutputCapture(long limit) {
    this.half = Math.max(1, limit / 2);
  }

  void add(LogRecord line) {
    total += size(line);
    if (tail.isEmpty() && headBytes + size(line) <= half) {
      head.add(line);
      headBytes += size(line);
      return;
    }
    LogRecord kept = size(line) <= half ? line : cut(line);
    tail.add(kept);
    tailBytes += size(kept);
    while (tailBytes > half) {
      tailBytes -= size(tail.remove());
    }
  }

  Attempt.Output output() {
    return new Attempt.Output(headBytes + tailBytes, total);
  }

  List<LogRecord> lines() {
    var lines = new ArrayList<>(head);
    long missing = total - headBytes - tailBytes;
    if (missing > 0) {
      LogRecord next = tail.isEmpty() ? head.getLast() : tail.getFirst();
      byte[] mark =
          "[... %d bytes left out ...]".formatted(missing).getBytes(StandardCharsets.UTF_8);
      lines.add(new LogRecord(next.time(), LogRecord.Stream.STDERR, mark, false));
    }
    lines.addAll(tail);
    return lines;
  }

  /** The end of a line that alone is too long. */
  private LogRecord cut(LogRecord line) {
    byte[] bytes = line.bytes();
    int from = (int) Math.max(0, bytes.length - half + 1);
    return new LogRecord(
        line.time(), line.stream(), Arrays.copyOfRange(bytes, from, bytes.length), line.partial());
  }

  /** With the line end. */
  private static long size(LogRecord line) {
    return line.bytes().length + (line.partial() ? 0L : 1L);
  }
}

package dev.zlayer.daemon.rest;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.port.LogReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Gives the lines with a text, each with all its pieces, when it is ended. It reads what callers
 * see, after secrets are replaced: who searches for a secret must not learn that it is there.
 */
final class MatchingLogReader implements LogReader {
  /** A line that is longer is taken for several. */
  private static final int LONGEST_LINE = 4 << 20;

  private final LogReader source;
  private final LogQuery.Containing text;
  private final byte[] wanted;
  private final int[] skips;

  /** Lines that are not ended yet. */
  private final Map<LogRecord.Stream, Line> open = new EnumMap<>(LogRecord.Stream.class);

  private final Deque<Line> found = new ArrayDeque<>();
  private final OptionalInt tail;
  private Iterator<LogRecord> pieces = List.<LogRecord>of().iterator();
  private boolean ended;
  private boolean gapAhead;
  private boolean gap;

  /** The pieces of one line. */
  private static final class Line {
    private final List<LogRecord> pieces = new ArrayList<>();
    private int length;
    private boolean gap;

    void add(LogRecord piece) {
      pieces.add(piece);
      length += piece.bytes().length;
    }

    byte[] bytes() {
      if (pieces.size() == 1) {
        return pieces.getFirst().bytes();
      }
      byte[] all = new byte[length];
      int at = 0;
      for (LogRecord piece : pieces) {
        System.arraycopy(piece.bytes(), 0, all, at, piece.bytes().length);
        at += piece.bytes().length;
      }
      return all;
    }
  }

  /**
   * @param tail only the last lines; of a source that ends
   */
  MatchingLogReader(LogReader source, LogQuery.Containing text, OptionalInt tail) {
    this.source = source;
    this.text = text;
    this.tail = tail;
    this.wanted = folded(text.text()).getBytes(StandardCharsets.UTF_8);
    this.skips = skips(wanted);
  }

  @Override
  public Optional<LogRecord> next() throws InterruptedException {
    return next(() -> {});
  }

  @Override
  public Optional<LogRecord> next(Runnable waiting) throws InterruptedException {
    while (!pieces.hasNext()) {
      if (!found.isEmpty() && (ended || tail.isEmpty())) {
        Line line = found.removeFirst();
        pieces = line.pieces.iterator();
        gap = line.gap;
        return Optional.of(pieces.next());
      }
      if (ended) {
        return Optional.empty();
      }
      read(waiting);
    }
    gap = false;
    return Optional.of(pieces.next());
  }

  private void read(Runnable waiting) throws InterruptedException {
    Optional<LogRecord> record = source.next(waiting);
    if (record.isEmpty()) {
      ended = true;
      open.values().forEach(this::check);
      open.clear();
      return;
    }
    gapAhead |= source.gap();
    LogRecord piece = record.get();
    Line line = open.computeIfAbsent(piece.stream(), _ -> new Line());
    line.add(piece);
    if (!piece.partial() || line.length >= LONGEST_LINE) {
      open.remove(piece.stream());
      check(line);
    }
  }

  private void check(Line line) {
    if (!contains(line.bytes())) {
      return;
    }
    line.gap = gapAhead;
    gapAhead = false;
    found.addLast(line);
    if (tail.isPresent() && found.size() > tail.getAsInt()) {
      found.removeFirst();
    }
  }

  private boolean contains(byte[] line) {
    if (!text.ignoreCase()) {
      return find(line);
    }
    return find(folded(new String(line, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
  }

  /** Compares from the end of the text, and passes over as many bytes as cannot match. */
  private boolean find(byte[] line) {
    int last = wanted.length - 1;
    for (int at = 0; at + last < line.length; ) {
      int index = last;
      while (index >= 0 && line[at + index] == wanted[index]) {
        index--;
      }
      if (index < 0) {
        return true;
      }
      at += skips[line[at + last] & 0xff];
    }
    return wanted.length == 0;
  }

  private static int[] skips(byte[] wanted) {
    int[] skips = new int[256];
    java.util.Arrays.fill(skips, Math.max(1, wanted.length));
    for (int index = 0; index < wanted.length - 1; index++) {
      skips[wanted[index] & 0xff] = wanted.length - 1 - index;
    }
    return skips;
  }

  /** In lower case, where letters beyond ASCII stay beyond it as an index of bytes needs it. */
  private String folded(String any) {
    if (!text.ignoreCase()) {
      return any;
    }
    var folded = new StringBuilder(any.length());
    any.codePoints()
        .map(
            letter -> {
              int lower = Character.toLowerCase(letter);
              return letter > 0x7f && lower <= 0x7f ? letter : lower;
            })
        .forEach(folded::appendCodePoint);
    return folded.toString();
  }

  @Override
  public boolean gap() {
    return gap;
  }

  @Override
  public boolean incomplete() {
    return source.incomplete();
  }

  @Override
  public void close() {
    source.close();
  }
}

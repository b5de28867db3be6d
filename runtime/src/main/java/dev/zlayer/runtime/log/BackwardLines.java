package dev.zlayer.runtime.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** Walks backwards through the lines of a log, newest first, a block at a time. */
final class BackwardLines {
  private static final int BLOCK = 64 << 10;

  /** No line of conmon's is as long; the rest of such a one is passed over. */
  private static final int OVERLONG = 4 * BLOCK;

  private final List<LogPart> parts;
  private int part;

  /** Bytes of the current part from {@code base} on; those behind {@code end} are told already. */
  private byte[] block = {};

  private long base;
  private int end;
  private int start;

  /** Begins with the line that ends at a position. */
  BackwardLines(List<LogPart> parts, LogPart.Position from) {
    this.parts = parts;
    this.part = from.part();
    this.base = from.offset();
  }

  /** Moves to the line before; false at the beginning of the log. */
  boolean advance() throws IOException {
    end = start;
    while (true) {
      // the byte before end is the line's own end
      int newline = end - 2;
      while (newline >= 0 && block[newline] != '\n') {
        newline--;
      }
      if (newline >= 0 || (base == 0 && end > 0)) {
        start = newline + 1;
        return true;
      }
      if (base == 0) {
        if (part == 0) {
          return false;
        }
        part--;
        base = parts.get(part).size();
        end = 0;
      }
      if (end > OVERLONG) {
        end = 0;
      }
      prepend();
    }
  }

  byte[] bytes() {
    return block;
  }

  int start() {
    return start;
  }

  /** Behind the last byte, the line end not counted. */
  int end() {
    return end > start && block[end - 1] == '\n' ? end - 1 : end;
  }

  /** Whether the line has no end: it is being written, or the rest of an overlong one. */
  boolean torn() {
    return end() == end;
  }

  LogPart.Position position() {
    return new LogPart.Position(part, base + start);
  }

  /** Reads the block before {@code base}; what was not told yet is kept behind it. */
  private void prepend() throws IOException {
    int count = (int) Math.min(BLOCK, base);
    var larger = new byte[count + end];
    System.arraycopy(block, 0, larger, count, end);
    ByteBuffer into = ByteBuffer.wrap(larger, 0, count);
    while (into.hasRemaining()) {
      if (parts.get(part).channel().read(into, base - count + into.position()) < 0) {
        throw new IOException("%s became shorter".formatted(parts.get(part).generation().path()));
      }
    }
    block = larger;
    base -= count;
    end += count;
  }
}

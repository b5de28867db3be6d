package dev.zlayer.runtime.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Walks through the lines of a file that may still grow. A line is told only when its end is there;
 * one longer than the buffer was not written by conmon and is passed over.
 */
final class LineScanner {
  private final FileChannel channel;
  private final byte[] buffer;
  private final long end;

  /** The place in the file of the buffer's first byte. */
  private long base;

  private int filled;
  private int searched;
  private int next;
  private int start;
  private boolean overlong;

  /**
   * Begins at a place where a line begins.
   *
   * @param end lines that begin at or behind this place in the file are not told
   */
  LineScanner(FileChannel channel, long offset, long end, int bufferSize) {
    this.channel = channel;
    this.base = offset;
    this.end = end;
    this.buffer = new byte[bufferSize];
  }

  /** Moves to the next complete line; false when there is none now. */
  boolean advance() throws IOException {
    while (true) {
      int newline = indexOfNewline();
      if (newline < 0) {
        if (!fill()) {
          return false;
        }
        continue;
      }
      start = next;
      next = newline + 1;
      searched = next;
      if (overlong) {
        overlong = false;
        continue;
      }
      return base + start < end;
    }
  }

  /** Takes what is there of an unfinished last line, as the last call; false when nothing is. */
  boolean takeRest() {
    if (next >= filled || overlong || base + next >= end) {
      return false;
    }
    start = next;
    next = filled + 1;
    return true;
  }

  byte[] bytes() {
    return buffer;
  }

  int start() {
    return start;
  }

  /** Behind the line's last byte, its line end not counted. */
  int end() {
    return next - 1;
  }

  /** Where the line begins in the file. */
  long offset() {
    return base + start;
  }

  /** Where the next line begins in the file. */
  long nextOffset() {
    return base + next;
  }

  private int indexOfNewline() {
    byte[] bytes = buffer;
    for (int i = searched; i < filled; i++) {
      if (bytes[i] == '\n') {
        return i;
      }
    }
    searched = filled;
    return -1;
  }

  private boolean fill() throws IOException {
    if (base + next >= end) {
      return false;
    }
    if (next > 0) {
      System.arraycopy(buffer, next, buffer, 0, filled - next);
      base += next;
      filled -= next;
      searched -= next;
      next = 0;
    } else if (filled == buffer.length) {
      overlong = true;
      base += filled;
      filled = 0;
      searched = 0;
    }
    int count =
        channel.read(ByteBuffer.wrap(buffer, filled, buffer.length - filled), base + filled);
    if (count <= 0) {
      return false;
    }
    filled += count;
    return true;
  }
}

package dev.zlayer.runtime.wasm;

import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Deque;

/** Bytes from one thread to another, in memory and bounded; both ends can be ended at any time. */
final class ByteQueue {
  private static final int LIMIT = 1 << 20;

  private final Deque<byte[]> chunks = new ArrayDeque<>();
  private int position;
  private int held;
  private boolean ended;

  /** Adds bytes without waiting; false when there is no room or nobody reads any more. */
  synchronized boolean offer(byte[] bytes) {
    if (ended || held + bytes.length > LIMIT) {
      return false;
    }
    if (bytes.length > 0) {
      add(bytes);
    }
    return true;
  }

  /** Adds bytes when there is room; false when nobody will read them. */
  synchronized boolean put(byte[] bytes) throws InterruptedException {
    while (!ended && held > 0 && held + bytes.length > LIMIT) {
      wait();
    }
    if (ended || bytes.length == 0) {
      return !ended;
    }
    add(bytes); // alone it may be larger than the limit
    return true;
  }

  private synchronized void add(byte[] bytes) {
    chunks.add(bytes);
    held += bytes.length;
    notifyAll();
  }

  /** No more comes; what is there can still be read. */
  synchronized void end() {
    ended = true;
    notifyAll();
  }

  InputStream input() {
    return new InputStream() {
      @Override
      public int read() throws InterruptedIOException {
        var one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] into, int offset, int length) throws InterruptedIOException {
        return take(into, offset, length);
      }

      @Override
      public int available() {
        return held();
      }
    };
  }

  private synchronized int held() {
    return held;
  }

  private synchronized int take(byte[] into, int offset, int length) throws InterruptedIOException {
    try {
      while (held == 0) {
        if (ended) {
          return -1;
        }
        wait();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while reading");
    }
    byte[] first = chunks.getFirst();
    int count = Math.min(length, first.length - position);
    System.arraycopy(first, position, into, offset, count);
    position += count;
    held -= count;
    if (position == first.length) {
      chunks.removeFirst();
      position = 0;
    }
    notifyAll();
    return count;
  }
}

package dev.zlayer.runtime.oci.exec;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Output on its way to a reader who may be slow or stopped: the writer never waits. What comes
 * while too much is unread is discarded and counted.
 */
public final class OutputBuffer {
  private final long limit;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final ArrayDeque<byte[]> pieces = new ArrayDeque<>(); // guarded by lock
  private int begun; // of the first piece is read; guarded by lock
  private long unread; // guarded by lock
  private long discarded; // guarded by lock
  private boolean ended; // guarded by lock

  public OutputBuffer(long limit) {
    this.limit = limit;
  }

  public void write(byte[] bytes, int offset, int length) {
    lock.lock();
    try {
      int kept = ended ? 0 : (int) Math.min(length, limit - unread);
      if (kept > 0) {
        pieces.add(Arrays.copyOfRange(bytes, offset, offset + kept));
        unread += kept;
        changed.signalAll();
      }
      discarded += length - kept;
    } finally {
      lock.unlock();
    }
  }

  /** Nothing more comes; what is there can still be read. */
  public void end() {
    lock.lock();
    try {
      ended = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Nobody reads any more. */
  public void close() {
    lock.lock();
    try {
      ended = true;
      pieces.clear();
      unread = 0;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** How many bytes the reader has missed until now. */
  public long discarded() {
    lock.lock();
    try {
      return discarded;
    } finally {
      lock.unlock();
    }
  }

  public InputStream input() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        var one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        return OutputBuffer.this.read(bytes, offset, length);
      }

      @Override
      public void close() {
        OutputBuffer.this.close();
      }
    };
  }

  private int read(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    lock.lock();
    try {
      while (pieces.isEmpty() && !ended) {
        changed.await();
      }
      if (pieces.isEmpty()) {
        return -1;
      }
      byte[] first = pieces.element();
      int count = Math.min(length, first.length - begun);
      System.arraycopy(first, begun, bytes, offset, count);
      begun += count;
      unread -= count;
      if (begun == first.length) {
        pieces.remove();
        begun = 0;
      }
      return count;
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new java.io.InterruptedIOException("interrupted while waiting for output");
    } finally {
      lock.unlock();
    }
  }
}

package dev.zlayer.daemon.rest.stream;

import java.util.Arrays;

/**
 * Cuts a stream of bytes so that no character of UTF-8 is torn. Owned by one thread. What is no
 * UTF-8 at all passes as it comes.
 */
final class TextChunks {
  private static final int LONGEST = 4;

  private byte[] rest = {};

  /** What can be passed on now; an unfinished character waits for its end. */
  byte[] next(byte[] bytes, int length) {
    byte[] all = Arrays.copyOf(rest, rest.length + length);
    System.arraycopy(bytes, 0, all, rest.length, length);
    int whole = all.length - unfinished(all);
    rest = Arrays.copyOfRange(all, whole, all.length);
    return Arrays.copyOf(all, whole);
  }

  /** What still waits when nothing more comes. */
  byte[] last() {
    return rest;
  }

  /** How many bytes at the end begin a character that is not complete. */
  private static int unfinished(byte[] bytes) {
    for (int back = 1; back < LONGEST && back <= bytes.length; back++) {
      int value = bytes[bytes.length - back] & 0xff;
      if (value < 0x80) {
        return 0;
      }
      if (value >= 0xc0) {
        int size = value >= 0xf0 ? 4 : value >= 0xe0 ? 3 : 2;
        return size > back ? back : 0;
      }
    }
    return 0;
  }
}

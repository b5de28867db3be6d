package dev.zlayer.runtime.log;

import dev.zlayer.container.LogRecord;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;

/**
 * Reads the head of a line that conmon wrote:
 *
 * <pre>{@code 2024-01-01T00:00:00.000000000+00:00 stdout F text}</pre>
 *
 * The parts have fixed places. {@code F} ends a line of output, {@code P} is a piece of one that
 * goes on. One object is used for all lines of a reader, so reading a line allocates nothing;
 * conmon gives many lines in a row the same time, which is parsed only once.
 */
final class LineHeader {
  /** Length of the time stamp. */
  private static final int TIME = 35;

  private static final int STREAM = TIME + 1;
  private static final int TAG = STREAM + 7;

  /** Where the text begins. */
  static final int LENGTH = TAG + 2;

  private static final byte[] STDOUT = {'s', 't', 'd', 'o', 'u', 't', ' '};
  private static final byte[] STDERR = {'s', 't', 'd', 'e', 'r', 'r', ' '};

  private final byte[] lastTime = new byte[TIME];
  private Instant time = Instant.EPOCH;
  private LogRecord.Stream stream = LogRecord.Stream.STDOUT;
  private boolean full;
  private int text;

  /** Whether the bytes are a line of conmon's; only then the answers below mean something. */
  boolean parse(byte[] bytes, int start, int end) {
    int at = start;
    // a file system that was cut off by a power loss can leave a hole before the next line
    while (at < end && bytes[at] == 0) {
      at++;
    }
    if (end - at < LENGTH || bytes[at + TIME] != ' ' || bytes[at + TAG + 1] != ' ') {
      return false;
    }
    if (Arrays.equals(bytes, at + STREAM, at + TAG, STDOUT, 0, STDOUT.length)) {
      stream = LogRecord.Stream.STDOUT;
    } else if (Arrays.equals(bytes, at + STREAM, at + TAG, STDERR, 0, STDERR.length)) {
      stream = LogRecord.Stream.STDERR;
    } else {
      return false;
    }
    byte tag = bytes[at + TAG];
    full = tag == 'F';
    text = at + LENGTH;
    return (full || tag == 'P') && parseTime(bytes, at);
  }

  Instant time() {
    return time;
  }

  LogRecord.Stream stream() {
    return stream;
  }

  /** Whether a line of output ends here. */
  boolean full() {
    return full;
  }

  /** Where the text begins in the parsed bytes. */
  int text() {
    return text;
  }

  private boolean parseTime(byte[] bytes, int at) {
    if (Arrays.equals(bytes, at, at + TIME, lastTime, 0, TIME)) {
      return true;
    }
    int year = number(bytes, at, 4);
    int month = number(bytes, at + 5, 2);
    int day = number(bytes, at + 8, 2);
    int hour = number(bytes, at + 11, 2);
    int minute = number(bytes, at + 14, 2);
    int second = number(bytes, at + 17, 2);
    int nano = number(bytes, at + 20, 9);
    int offset = number(bytes, at + 30, 2) * 60 + number(bytes, at + 33, 2);
    boolean sane =
        (year | month | day | hour | minute | second | nano | offset) >= 0
            && year > 0
            && month >= 1
            && month <= 12
            && day >= 1
            && day <= LocalDate.of(year, month, 1).lengthOfMonth();
    if (!sane) {
      return false;
    }
    long seconds =
        LocalDate.of(year, month, day).toEpochDay() * 86_400
            + (hour * 60L + minute) * 60
            + second
            - (bytes[at + 29] == '-' ? -offset : offset) * 60L;
    time = Instant.ofEpochSecond(seconds, nano);
    System.arraycopy(bytes, at, lastTime, 0, TIME);
    return true;
  }

  /** A number of exactly these digits, or a negative one. */
  private static int number(byte[] bytes, int at, int digits) {
    int value = 0;
    for (int i = at; i < at + digits; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) {
        return -1_000_000;
      }
      value = value * 10 + digit;
    }
    return value;
  }
}

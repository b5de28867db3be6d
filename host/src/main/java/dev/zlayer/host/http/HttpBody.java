package dev.zlayer.host.http;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.List;

/** Where a body ends: after a known length, with the last chunk, or with the connection. */
abstract class HttpBody {
  /** In digits; longer ones may not fit into a number. */
  private static final int LONGEST_LENGTH = 18;

  /** As {@link InputStream#read(byte[], int, int)}; a broken body is an {@link IOException}. */
  abstract int read(byte[] bytes, int offset, int length) throws IOException;

  /** Whether the end was reached and the connection stands at the next answer. */
  abstract boolean complete();

  static HttpBody of(String method, HttpHead head, InputStream in, HttpLimits limits)
      throws IOException {
    if (method.equals("HEAD") || head.status() == 204 || head.status() == 304) {
      return new Sized(in, 0);
    }
    List<String> encodings = head.headers().all("Transfer-Encoding");
    if (!encodings.isEmpty()) {
      if (encodings.size() > 1 || !encodings.getFirst().equalsIgnoreCase("chunked")) {
        throw new IOException("the peer uses an unknown transfer encoding " + encodings);
      }
      return new Chunked(in, limits);
    }
    List<String> lengths = head.headers().all("Content-Length");
    if (lengths.isEmpty()) {
      return new UntilClose(in);
    }
    boolean same = Collections.frequency(lengths, lengths.getFirst()) == lengths.size();
    if (!same || !digits(lengths.getFirst(), 10, LONGEST_LENGTH)) {
      throw new IOException("the peer sent an odd content length " + lengths);
    }
    return new Sized(in, Long.parseLong(lengths.getFirst()));
  }

  /** Digits of ASCII alone: others are numbers to Java, too. */
  private static boolean digits(String text, int radix, int most) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) > 'f' || Character.digit(text.charAt(i), radix) < 0) {
        return false;
      }
    }
    return !text.isEmpty() && text.length() <= most;
  }

  private static final class Sized extends HttpBody {
    private final InputStream in;
    private final long size;
    private long left;

    Sized(InputStream in, long size) {
      this.in = in;
      this.size = size;
      this.left = size;
    }

    @Override
    int read(byte[] bytes, int offset, int length) throws IOException {
      if (left == 0) {
        return -1;
      }
      int count = in.read(bytes, offset, (int) Math.min(length, left));
      if (count < 0) {
        throw new EOFException(
            "the peer closed the connection after %d of %d bytes".formatted(size - left, size));
      }
      left -= count;
      return count;
    }

    @Override
    boolean complete() {
      return left == 0;
    }
  }

  private static final class UntilClose extends HttpBody {
    private final InputStream in;

    UntilClose(InputStream in) {
      this.in = in;
    }

    @Override
    int read(byte[] bytes, int offset, int length) throws IOException {
      return in.read(bytes, offset, length);
    }

    @Override
    boolean complete() {
      return false;
    }
  }

  private static final class Chunked extends HttpBody {
    private static final int MAX_SIZE_LINE = 1 << 10;
    private static final int MAX_SIZE_DIGITS = 15;

    private final InputStream in;
    private final HttpLimits limits;
    private long left;
    private boolean first = true;
    private boolean complete;

    Chunked(InputStream in, HttpLimits limits) {
      this.in = in;
      this.limits = limits;
    }

    @Override
    int read(byte[] bytes, int offset, int length) throws IOException {
      if (left == 0 && !complete) {
        nextChunk();
      }
      if (complete) {
        return -1;
      }
      int count = in.read(bytes, offset, (int) Math.min(length, left));
      if (count < 0) {
        throw new EOFException("the peer closed the connection inside a chunk");
      }
      left -= count;
      return count;
    }

    private void nextChunk() throws IOException {
      if (!first && !new HttpHead.Lines(in, 2).next().isEmpty()) {
        throw new IOException("the peer sent a chunk longer than it said");
      }
      first = false;
      String line = new HttpHead.Lines(in, MAX_SIZE_LINE).next();
      String size = size(line);
      if (!HttpHead.oneLine(line) || !digits(size, 16, MAX_SIZE_DIGITS)) {
        throw new IOException("the peer sent a malformed chunk size");
      }
      left = Long.parseLong(size, 16);
      if (left == 0) {
        HttpHead.headers(new HttpHead.Lines(in, limits.headBytes()), limits);
        complete = true;
      }
    }

    /** Without extensions, and blanks before them. */
    private static String size(String line) {
      int end = line.indexOf(';');
      end = end < 0 ? line.length() : end;
      while (end > 0 && (line.charAt(end - 1) == ' ' || line.charAt(end - 1) == '\t')) {
        end--;
      }
      return line.substring(0, end);
    }

    @Override
    boolean complete() {
      return complete;
    }
  }
}

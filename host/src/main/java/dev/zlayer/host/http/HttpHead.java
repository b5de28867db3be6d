package dev.zlayer.host.http;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The part of an answer before its body. */
record HttpHead(boolean http11, int status, HttpHeaders headers) {
  private static final String VERSION = "HTTP/1.";

  /** Of a line without a reason. */
  private static final int STATUS_LINE = "HTTP/1.1 200".length();

  /** A peer that says so often that there is more to come has nothing to say. */
  private static final int MOST_INTERIM = 100;

  /** Reads one; those that only announce another ({@code 100 Continue}) are passed over. */
  static HttpHead read(InputStream in, HttpLimits limits) throws IOException {
    for (int interim = 0; interim <= MOST_INTERIM; interim++) {
      var lines = new Lines(in, limits.headBytes());
      String first = lines.next();
      if (!statusLine(first)) {
        throw new IOException("the peer does not speak HTTP/1.1, it said '" + shown(first) + "'");
      }
      int status = Integer.parseInt(first, STATUS_LINE - 3, STATUS_LINE, 10);
      var head =
          new HttpHead(first.charAt(VERSION.length()) == '1', status, headers(lines, limits));
      if (head.status >= 200 || head.status == 101) {
        return head;
      }
    }
    throw new IOException("the peer announced its answer more than " + MOST_INTERIM + " times");
  }

  /** {@code HTTP/1.1 200}, and perhaps a blank and a reason. */
  private static boolean statusLine(String line) {
    return line.startsWith(VERSION)
        && line.length() >= STATUS_LINE
        && (line.length() == STATUS_LINE || line.charAt(STATUS_LINE) == ' ')
        && between(line.charAt(VERSION.length()), '0', '1')
        && line.charAt(VERSION.length() + 1) == ' '
        && between(line.charAt(STATUS_LINE - 3), '1', '5')
        && between(line.charAt(STATUS_LINE - 2), '0', '9')
        && between(line.charAt(STATUS_LINE - 1), '0', '9')
        && oneLine(line);
  }

  private static boolean between(char character, char first, char last) {
    return character >= first && character <= last;
  }

  /** Without what others take for the end of a line. */
  static boolean oneLine(String text) {
    return text.indexOf('\r') < 0 && text.indexOf('\u0085') < 0;
  }

  /** The lines up to the empty one; also used for what follows a chunked body. */
  static HttpHeaders headers(Lines lines, HttpLimits limits) throws IOException {
    List<HttpHeaders.Entry> entries = new ArrayList<>();
    for (String line = lines.next(); !line.isEmpty(); line = lines.next()) {
      int colon = line.indexOf(':');
      if (colon < 0 || !HttpHeaders.token(line.substring(0, colon)) || !oneLine(line)) {
        throw new IOException("the peer sent a malformed header '" + shown(line) + "'");
      }
      if (entries.size() == limits.headers()) {
        throw new IOException("the peer sent more than " + limits.headers() + " headers");
      }
      entries.add(
          new HttpHeaders.Entry(line.substring(0, colon), blankless(line.substring(colon + 1))));
    }
    return new HttpHeaders(entries);
  }

  /** Without spaces and tabs around it; by hand, since a pattern takes quadratic time for that. */
  private static String blankless(String text) {
    int from = 0;
    int to = text.length();
    while (from < to && blank(text.charAt(from))) {
      from++;
    }
    while (to > from && blank(text.charAt(to - 1))) {
      to--;
    }
    return text.substring(from, to);
  }

  private static boolean blank(char character) {
    return character == ' ' || character == '\t';
  }

  private static String shown(String line) {
    String printable = line.replaceAll("[^\\x20-\\x7e]", "?");
    return printable.length() <= 80 ? printable : printable.substring(0, 80) + "...";
  }

  /** Lines that end with CR LF or LF, of a limited length in all. */
  static final class Lines {
    private final InputStream in;
    private int left;

    Lines(InputStream in, int maxBytes) {
      this.in = in;
      this.left = maxBytes;
    }

    String next() throws IOException {
      var line = new ByteArrayOutputStream();
      for (int b = in.read(); b != '\n'; b = in.read()) {
        if (b < 0) {
          throw new EOFException("the peer closed the connection before its answer was complete");
        }
        if (--left < 0) {
          throw new IOException("the peer's headers are too long");
        }
        line.write(b);
      }
      String text = line.toString(StandardCharsets.ISO_8859_1);
      return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
    }
  }
}

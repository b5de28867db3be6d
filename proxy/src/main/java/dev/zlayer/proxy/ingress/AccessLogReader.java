package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the access log of one service, from its oldest file on. Files continue each other in the
 * middle of a line. Owned by one thread.
 */
public final class AccessLogReader implements AutoCloseable {
  private static final Pattern LINE = Pattern.compile("(\\S+) ([0-9]{1,12})\\.([0-9]{3}) (.+)");
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,12}");
  private static final byte BEGIN = 0x1e;
  private static final int BUFFER = 64 << 10;

  private final Path directory;
  private final byte[] prefix;
  private final Optional<Instant> since;
  private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER).flip();
  private final ByteArrayOutputStream part = new ByteArrayOutputStream();
  private final Deque<Line> found = new ArrayDeque<>();
  private long skip;
  private long number = -1;
  private @Nullable SeekableByteChannel file;

  /**
   * One request, or one connection.
   *
   * @param text all about it but the time, as {@link AccessLogRules} has it written
   */
  public record Line(ServiceKey service, Instant time, String text) {
    private static final Pattern FIELDS =
        Pattern.compile(
            "(?<client>\\S+) (?<status>-|-?[0-9]+) (?<bytes>[0-9]+)"
                + " (?<received>[0-9]+) (?<ms>-?[0-9]+) (?<response>-|-?[0-9]+) (?<replica>\\S+)"
                + " (?<end>\\S+) (?<id>\\S+)(?<sent>( \"[^\"]*\")+)");

    private static final Pattern QUOTED = Pattern.compile("\"([^\"]*)\"");

    /** What is longer than HAProxy keeps has no version; HTTP/2 has the host before the path. */
    private static final Pattern REQUEST =
        Pattern.compile(
            "(?<method>\\S*)( ([a-z]+://[^/?]*)?(?<uri>.*?)( (?<version>HTTP/\\S+))?)?",
            Pattern.DOTALL);

    /** What clients sent, in the order in which it is captured. */
    private static final int HOST = 0;

    private static final int AGENT = 1;
    private static final int REFERER = 2;
    private static final int REQUEST_LINE = 3;

    OptionalLong millis() {
      Matcher fields = FIELDS.matcher(text);
      return fields.matches() && !fields.group("ms").startsWith("-")
          ? OptionalLong.of(Long.parseLong(fields.group("ms")))
          : OptionalLong.empty();
    }

    /** Whether it was answered with a status from 500 on. */
    boolean failed() {
      Matcher fields = FIELDS.matcher(text);
      return fields.matches() && fields.group("status").startsWith("5");
    }

    /** For people; a connection has no method, status and so on. */
    public Json json() {
      Matcher fields = FIELDS.matcher(text);
      if (!fields.matches()) {
        // an earlier version wrote JSON
        return text.startsWith("{")
            ? JsonText.parse(text)
            : Json.object().put("line", text).build();
      }
      List<String> sent =
          QUOTED.matcher(fields.group("sent")).results().map(one -> decode(one.group(1))).toList();
      Optional<Matcher> request =
          sent.size() > REQUEST_LINE
              ? Optional.of(REQUEST.matcher(sent.get(REQUEST_LINE))).filter(Matcher::matches)
              : Optional.empty();
      Json.Builder json = Json.object().put("client", fields.group("client"));
      request.ifPresent(line -> json.put("method", line.group("method")));
      json.put("host", sent.get(HOST));
      request.ifPresentOrElse(
          line ->
              json.put("uri", Objects.requireNonNullElse(line.group("uri"), ""))
                  .put("protocol", Objects.requireNonNullElse(line.group("version"), "HTTP"))
                  .put("status", number(fields, "status")),
          () -> json.put("protocol", "TLS"));
      json.put("bytes", number(fields, "bytes"))
          .put("request_bytes", number(fields, "received"))
          .put("ms", number(fields, "ms"));
      request.ifPresent(_ -> json.put("response_ms", number(fields, "response")));
      json.put("replica", fields.group("replica")).put("end", fields.group("end"));
      return request.isPresent()
          ? json.put("agent", sent.get(AGENT))
              .put("referer", sent.get(REFERER))
              .put("id", fields.group("id"))
              .build()
          : json.build();
    }

    private static long number(Matcher fields, String name) {
      String text = fields.group(name);
      return text.equals("-") ? -1 : Long.parseLong(text);
    }

    /** Signs that were written as {@code #} and two digits; what is no UTF-8 is replaced. */
    private static String decode(String written) {
      var bytes = new ByteArrayOutputStream();
      for (int i = 0; i < written.length(); i++) {
        boolean escaped = written.startsWith("#", i) && i + 2 < written.length();
        bytes.write(escaped ? HexFormat.fromHexDigits(written, i + 1, i + 3) : written.charAt(i));
        i += escaped ? 2 : 0;
      }
      return bytes.toString(StandardCharsets.UTF_8);
    }
  }

  /** Without a service those of all. */
  AccessLogReader(
      Path directory, Optional<ServiceKey> service, Optional<Instant> since, long skip) {
    this.directory = directory;
    this.prefix =
        service
            .map(one -> "%s:%s:".formatted(one.deployment(), one.service()))
            .orElse("")
            .getBytes(StandardCharsets.UTF_8);
    this.since = since;
    this.skip = skip;
  }

  /** The files, oldest first. */
  static List<Path> files(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files
          .filter(file -> NUMBER.matcher(String.valueOf(file.getFileName())).matches())
          .sorted(Comparator.comparingLong(AccessLogReader::number))
          .toList();
    } catch (NoSuchFileException _) {
      return List.of();
    }
  }

  private static long number(Path file) {
    return Long.parseLong(String.valueOf(file.getFileName()));
  }

  /** The next one that was written so far; later there may be more. */
  public Optional<Line> next() {
    try {
      while (found.isEmpty()) {
        if (!buffer.hasRemaining() && !fill()) {
          return Optional.empty();
        }
        split();
      }
      return Optional.of(found.removeFirst());
    } catch (IOException e) {
      throw new AgentException.Internal("cannot read the access log: " + e.getMessage(), e);
    }
  }

  /** Whether there are more bytes, of this file or a later one. */
  private boolean fill() throws IOException {
    while (true) {
      if (file != null) {
        buffer.clear();
        int read = file.read(buffer);
        buffer.flip();
        if (read > 0) {
          return true;
        }
      }
      Optional<Path> later =
          files(directory).stream().filter(one -> number(one) > number).findFirst();
      if (later.isEmpty()) {
        return false;
      }
      open(later.get());
    }
  }

  private void open(Path path) throws IOException {
    if (number(path) != number + 1) {
      part.reset(); // its end was removed with the file
    }
    SeekableByteChannel next;
    try {
      next = Files.newByteChannel(path);
    } catch (NoSuchFileException _) {
      return; // removed meanwhile
    }
    close();
    number = number(path);
    file = next;
    long size = next.size();
    next.position(Math.min(skip, size));
    skip = Math.max(0, skip - size);
  }

  private void split() {
    while (buffer.hasRemaining() && found.isEmpty()) {
      int end = buffer.position();
      while (end < buffer.limit() && buffer.get(end) != '\n') {
        end++;
      }
      part.write(buffer.array(), buffer.position(), end - buffer.position());
      if (end == buffer.limit()) {
        buffer.position(end);
      } else {
        buffer.position(end + 1);
        line();
        part.reset();
      }
    }
  }

  private void line() {
    byte[] bytes = part.toByteArray();
    int start = bytes.length - 1;
    while (start >= 0 && bytes[start] != BEGIN) {
      start--;
    }
    int after = start + 1 + prefix.length;
    if (start < 0
        || bytes.length <= after
        || !Arrays.equals(bytes, start + 1, after, prefix, 0, prefix.length)) {
      return;
    }
    Matcher matcher =
        LINE.matcher(
            new String(bytes, start + 1, bytes.length - start - 1, StandardCharsets.UTF_8));
    if (matcher.matches()) {
      Instant time =
          Instant.ofEpochSecond(
              Long.parseLong(matcher.group(2)), Long.parseLong(matcher.group(3)) * 1_000_000);
      if (since.map(from -> !time.isBefore(from)).orElse(true)) {
        service(matcher.group(1))
            .ifPresent(service -> found.add(new Line(service, time, matcher.group(4))));
      }
    }
  }

  /** Of a backend; others than those of endpoints have names without a colon. */
  private static Optional<ServiceKey> service(String backend) {
    String[] names = backend.split(":", 3);
    return names.length < 3 ? Optional.empty() : Optional.of(new ServiceKey(names[0], names[1]));
  }

  @Override
  public void close() {
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException _) {
      // it was only read
    }
  }
}

package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
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
import java.util.List;
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
  private static final Pattern LINE =
      Pattern.compile("(\\S+) ([0-9]{1,12})\\.([0-9]{3}) (\\{.*\\})");
  private static final Pattern MILLIS = Pattern.compile("\"ms\":([0-9]{1,12})[,}]");
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
   * One request.
   *
   * @param json all about it but the time
   */
  public record Line(ServiceKey service, Instant time, String json) {
    OptionalLong millis() {
      Matcher matcher = MILLIS.matcher(json);
      return matcher.find()
          ? OptionalLong.of(Long.parseLong(matcher.group(1)))
          : OptionalLong.empty();
    }

    /** Whether it was answered with a status from 500 on. */
    boolean failed() {
      return json.contains("\"status\":5");
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

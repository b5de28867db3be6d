package dev.zlayer.runtime.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.task.TaskScope;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a program wrote comes out of its log byte for byte, however it wrote it. */
@Timeout(120)
class OutputPropertyTest {
  private static final int CASES = Integer.getInteger("zlayer.test.outputCases", 10_000);
  private static final long SEED = Long.getLong("zlayer.test.seed", 20_261_115L);

  /** As much as conmon reads at once. */
  private static final int READ = 8192;

  private static final byte[] AWKWARD = {
    0, '\r', '\n', '\t', (byte) 0xff, (byte) 0xc3, ' ', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'
  };

  @TempDir Path directory;
  private DirectoryWatchLoop watch;

  @BeforeEach
  void open() throws Exception {
    watch =
        DirectoryWatchLoop.open(
            "test",
            directory,
            List.of(StandardWatchEventKinds.ENTRY_MODIFY, StandardWatchEventKinds.ENTRY_CREATE));
  }

  @AfterEach
  void close() throws Exception {
    watch.close();
  }

  @Test
  void randomWritesToBothStreamsComeOutByteForByte() throws Exception {
    var files = new LogFiles(directory.resolve("cases"), LogSpec.DEFAULT);
    Files.createDirectory(files.directory());
    for (int number = 0; number < CASES; number++) {
      long seed = SEED + number;
      var random = new Random(seed);
      var monitor = new Monitor();
      for (int i = random.nextInt(24); i > 0; i--) {
        monitor.write(LogRecord.Stream.values()[random.nextInt(2)], content(random), random);
      }
      if (random.nextInt(4) == 0) {
        monitor.die(random);
      }
      monitor.store(files, random.nextInt(8) == 0 ? random : null);
      assertSame(monitor.written(), read(files, LogQuery.ALL, EndSignal.ENDED), seed);
      if (random.nextInt(4) == 0) {
        var stream = LogRecord.Stream.values()[random.nextInt(2)];
        var one = read(files, LogQuery.ALL.only(stream), EndSignal.ENDED);
        var expected = monitor.written();
        expected.put(other(stream), new byte[0]);
        assertSame(expected, one, seed);
      }
    }
  }

  /** The reader is opened first and ends by itself, whenever the program and its monitor end. */
  @Test
  void aFollowerGetsTheSameBytes() throws Exception {
    for (int number = 0; number < CASES / 50; number++) {
      long seed = SEED - 1 - number;
      var random = new Random(seed);
      var run = new Run(directory.resolve("follow" + number), random);
      try (var scope = new TaskScope("follow")) {
        var followed = scope.fork(() -> read(run.files, LogQuery.ALL.following(), run));
        int writes = random.nextInt(40);
        for (int i = 0; i < writes; i++) {
          run.write(LogRecord.Stream.values()[random.nextInt(2)], content(random));
        }
        run.end();
        scope.join();
        assertSame(run.expected(), followed.result(), seed);
      }
      run.delete();
    }
  }

  /** The last n lines are the end of the output of a stream, and no line of it is torn. */
  @Test
  void theTailIsTheEndOfWhatWasWritten() throws Exception {
    var files = new LogFiles(directory.resolve("tails"), LogSpec.DEFAULT);
    Files.createDirectory(files.directory());
    for (int number = 0; number < CASES / 10; number++) {
      long seed = SEED * 3 + number;
      var random = new Random(seed);
      var monitor = new Monitor();
      for (int i = random.nextInt(30); i > 0; i--) {
        monitor.write(LogRecord.Stream.values()[random.nextInt(2)], content(random), random);
      }
      monitor.store(files, random.nextInt(8) == 0 ? random : null);
      var stream = LogRecord.Stream.values()[random.nextInt(2)];
      int lines = random.nextInt(12);
      LogQuery query = LogQuery.ALL.only(stream).withTail(lines);
      assertThat(read(files, query, EndSignal.ENDED).get(stream))
          .as("seed %d, %d lines", seed, lines)
          .isEqualTo(lastLines(monitor.written().get(stream), lines));
    }
  }

  private static byte[] lastLines(byte[] all, int lines) {
    int left = lines;
    int at = all.length;
    while (at > 0) {
      boolean begins = at == all.length || all[at - 1] == '\n';
      if (begins && left-- == 0) {
        break;
      }
      at--;
    }
    return Arrays.copyOfRange(all, at, all.length);
  }

  private static LogRecord.Stream other(LogRecord.Stream stream) {
    return stream == LogRecord.Stream.STDOUT ? LogRecord.Stream.STDERR : LogRecord.Stream.STDOUT;
  }

  private static void assertSame(
      Map<LogRecord.Stream, byte[]> expected, Map<LogRecord.Stream, byte[]> actual, long seed) {
    for (LogRecord.Stream stream : LogRecord.Stream.values()) {
      assertThat(Arrays.equals(actual.get(stream), expected.get(stream)))
          .as(
              "seed %d, %s: %d bytes were written and %d read",
              seed, stream, expected.get(stream).length, actual.get(stream).length)
          .isTrue();
    }
  }

  /** Mostly little, at times up to a megabyte; text, binary, and what looks like a log itself. */
  private static byte[] content(Random random) {
    int most = 1 << random.nextInt(random.nextInt(200) == 0 ? 21 : 11);
    byte[] bytes = new byte[random.nextInt(most)];
    switch (random.nextInt(5)) {
      case 0 -> random.nextBytes(bytes);
      case 1 -> Arrays.fill(bytes, (byte) random.nextInt(256));
      case 2 -> {
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = AWKWARD[random.nextInt(AWKWARD.length)];
        }
      }
      case 3 -> {
        byte[] line = "2024-01-01T00:00:00.000000000+00:00 stderr F x\n".getBytes();
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = line[i % line.length];
        }
      }
      default -> {
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = (byte) (random.nextInt(30) == 0 ? '\n' : 'a' + random.nextInt(26));
        }
      }
    }
    return bytes;
  }

  private Map<LogRecord.Stream, byte[]> read(LogFiles files, LogQuery query, EndSignal end)
      throws InterruptedException {
    Map<LogRecord.Stream, ByteArrayOutputStream> bytes = streams();
    try (var reader = LogFileReader.open(files, query, watch, end, InstantSource.system())) {
      for (var piece = reader.next(); piece.isPresent(); piece = reader.next()) {
        ByteArrayOutputStream into = bytes.get(piece.get().stream());
        into.writeBytes(piece.get().bytes());
        if (!piece.get().partial()) {
          into.write('\n');
        }
      }
    }
    return bytes(bytes);
  }

  /** Writes a log as conmon does, independently of our own writer. */
  private static final class Monitor {
    private static final int HEAD = 45;

    private final ByteArrayOutputStream log = new ByteArrayOutputStream();
    private final List<Integer> ends = new ArrayList<>();
    private final Map<LogRecord.Stream, ByteArrayOutputStream> written = streams();
    private int second;

    /** Each part that it reads gets one time, and a line of its own for each line or piece. */
    void write(LogRecord.Stream stream, byte[] bytes, Random random) {
      for (int at = 0; at < bytes.length; ) {
        int end = Math.min(bytes.length, at + 1 + random.nextInt(READ));
        second++;
        while (at < end) {
          int stop = at;
          while (stop < end && bytes[stop] != '\n') {
            stop++;
          }
          boolean full = stop < end;
          line(stream, full, bytes, at, stop);
          at = full ? stop + 1 : stop;
        }
      }
      written.get(stream).writeBytes(bytes);
    }

    private void line(LogRecord.Stream stream, boolean full, byte[] bytes, int from, int to) {
      String head =
          "2024-01-01T%02d:%02d:%02d.000000000+00:00 %s %s "
              .formatted(
                  second / 3600,
                  second / 60 % 60,
                  second % 60,
                  stream == LogRecord.Stream.STDOUT ? "stdout" : "stderr",
                  full ? "F" : "P");
      log.writeBytes(head.getBytes(StandardCharsets.US_ASCII));
      log.write(bytes, from, to - from);
      log.write('\n');
      ends.add(log.size());
    }

    /** It is killed while it writes its last line: a part of that is there or nothing. */
    void die(Random random) {
      if (ends.isEmpty()) {
        return;
      }
      byte[] all = log.toByteArray();
      int begin = ends.size() < 2 ? 0 : ends.get(ends.size() - 2);
      int cut = begin + random.nextInt(all.length - begin);
      log.reset();
      log.write(all, 0, cut);
      ends.removeLast();
      var stream = all[begin + 39] == 'o' ? LogRecord.Stream.STDOUT : LogRecord.Stream.STDERR;
      int text = all.length - 1 - begin - HEAD;
      int full = all[begin + 43] == 'F' ? 1 : 0;
      int there = Math.max(0, cut - begin - HEAD);
      byte[] bytes = written.get(stream).toByteArray();
      written.get(stream).reset();
      written.get(stream).write(bytes, 0, bytes.length - text - full + there);
    }

    /** In one file, or in up to three generations. */
    void store(LogFiles files, @Nullable Random random) throws IOException {
      for (LogFiles.Generation old : files.generations()) {
        Files.delete(old.path());
      }
      byte[] all = log.toByteArray();
      int from = 0;
      for (int part = 1; part < 3 && random != null && !ends.isEmpty(); part++) {
        int to = Math.max(from, ends.get(random.nextInt(ends.size())));
        Path file = files.directory().resolve("output." + part);
        Files.write(file, Arrays.copyOfRange(all, from, to));
        from = to;
      }
      // a new file: one that is emptied and filled again goes to the disk at once
      Files.deleteIfExists(files.current());
      Files.write(files.current(), Arrays.copyOfRange(all, from, all.length));
    }

    Map<LogRecord.Stream, byte[]> written() {
      return bytes(written);
    }
  }

  private static Map<LogRecord.Stream, ByteArrayOutputStream> streams() {
    Map<LogRecord.Stream, ByteArrayOutputStream> streams = new EnumMap<>(LogRecord.Stream.class);
    for (LogRecord.Stream stream : LogRecord.Stream.values()) {
      streams.put(stream, new ByteArrayOutputStream());
    }
    return streams;
  }

  private static Map<LogRecord.Stream, byte[]> bytes(
      Map<LogRecord.Stream, ByteArrayOutputStream> streams) {
    Map<LogRecord.Stream, byte[]> result = new EnumMap<>(LogRecord.Stream.class);
    streams.forEach((stream, bytes) -> result.put(stream, bytes.toByteArray()));
    return result;
  }

  /** A program and its monitor, which reads what it likes at a time and rotates its log. */
  private static final class Run implements EndSignal {
    final LogFiles files;
    private final Path place;
    private final Random random;
    private final LogWriter writer;
    private final Map<LogRecord.Stream, ByteArrayOutputStream> written = streams();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final List<Runnable> listeners = new java.util.concurrent.CopyOnWriteArrayList<>();

    Run(Path place, Random random) throws Exception {
      this.place = place;
      this.random = random;
      // more files than one case fills: what is rotated out is another test's
      this.files =
          new LogFiles(place, new LogSpec(random.nextInt(3) == 0 ? 200_000 : 1 << 30, 999));
      this.writer = LogWriter.open(files, InstantSource.system());
    }

    void write(LogRecord.Stream stream, byte[] bytes) throws Exception {
      written.get(stream).writeBytes(bytes);
      for (int at = 0; at < bytes.length; ) {
        int count = Math.min(bytes.length - at, 1 + random.nextInt(READ));
        writer.stream(stream).write(bytes, at, count);
        at += count;
      }
    }

    Map<LogRecord.Stream, byte[]> expected() {
      return bytes(written);
    }

    void end() {
      ended.set(true);
      listeners.forEach(Runnable::run);
    }

    void delete() throws Exception {
      writer.close();
      try (var list = Files.list(place)) {
        for (Path file : list.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(place);
    }

    @Override
    public boolean ended() {
      return ended.get();
    }

    @Override
    public DirectoryWatchLoop.Registration onEnd(Runnable wake) {
      listeners.add(wake);
      return () -> {};
    }
  }
}

package dev.zlayer.runtime.log;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DirectoryWatch;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.port.LogReader;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads a container's output on the caller's thread, piece by piece as conmon wrote it: nothing is
 * joined, so the bytes of a line that is not ended yet are given as soon as they are there, and all
 * pieces come in the order in which they were written. What is there when it is opened stays
 * readable however much is rotated meanwhile, and so does what comes while it is followed.
 */
public final class LogFileReader implements LogReader {
  private static final int BUFFER = 64 << 10;

  /** For short logs, which most jobs have; still more than any line that conmon writes. */
  private static final int SMALL_BUFFER = 32 << 10;

  private final LogFiles files;
  private final LogQuery query;
  private final EndSignal end;
  private final InstantSource clock;
  private final Semaphore wake = new Semaphore(0);
  private final List<DirectoryWatchLoop.Registration> registrations = new ArrayList<>();

  private final LineHeader header = new LineHeader();
  private final Deque<LogPart> parts = new ConcurrentLinkedDeque<>();
  private @Nullable LineScanner scanner;

  /** Where each stream begins for this query; earlier pieces are passed over. */
  private Map<LogRecord.Stream, LogPart.Position> begin = Map.of();

  /** Which of the parts that were there at first is read now. */
  private int part;

  /** The writer has left the current part; it is read to its end once more. */
  private boolean leaving;

  /**
   * Output before the next record may have been dropped, and before the last one that was given.
   */
  private boolean gapAhead;

  private boolean gap;

  /** Ranges of the current part without the text that is asked for, the next one first. */
  private final Deque<LogIndex.Skip> skips = new ArrayDeque<>();

  private boolean incomplete;
  private boolean finished;
  private volatile boolean closed;

  private LogFileReader(LogFiles files, LogQuery query, EndSignal end, InstantSource clock) {
    this.files = files;
    this.query = query;
    this.end = end;
    this.clock = clock;
  }

  /**
   * Opens the log at the place the query asks for.
   *
   * @param watch tells changes in log directories; used when following
   * @param end ends a follow
   */
  public static LogFileReader open(
      LogFiles files, LogQuery query, DirectoryWatch watch, EndSignal end, InstantSource clock) {
    var reader = new LogFileReader(files, files.retained(query, clock.instant()), end, clock);
    try {
      if (query.follow()) {
        reader.registrations.add(watch.watch(files.directory(), reader::changed));
        reader.registrations.add(end.onEnd(reader.wake::release));
      }
      reader.seek();
      return reader;
    } catch (NoSuchFileException e) {
      reader.close();
      throw new AgentException.NotFound("log of the container", "no file " + e.getFile());
    } catch (IOException e) {
      reader.close();
      throw cannotRead(e);
    }
  }

  @Override
  public Optional<LogRecord> next() throws InterruptedException {
    return next(() -> {});
  }

  @Override
  public Optional<LogRecord> next(Runnable waiting) throws InterruptedException {
    try {
      while (!finished && !closed) {
        LogRecord line = read();
        if (line != null) {
          gap = gapAhead;
          gapAhead = false;
          return Optional.of(line);
        }
        if (!finished) {
          waiting.run();
          awaitMore();
        }
      }
      return Optional.empty();
    } catch (ClosedByInterruptException _) {
      throw new InterruptedException("reading a log was interrupted");
    } catch (IOException e) {
      if (closed) {
        return Optional.empty();
      }
      throw cannotRead(e);
    } finally {
      if (closed) {
        parts.forEach(LogPart::close);
      }
    }
  }

  @Override
  public boolean gap() {
    return gap;
  }

  @Override
  public boolean incomplete() {
    return incomplete;
  }

  @Override
  public void close() {
    closed = true;
    wake.release();
    registrations.forEach(DirectoryWatchLoop.Registration::close);
    parts.forEach(LogPart::close);
  }

  /**
   * Opens generations as they come and not only when they are read: one that is open can be read
   * however long ago it was deleted, so a reader that is slow loses nothing. Not in memory, which
   * it would fill: there a slow reader meets a gap.
   */
  private void changed() {
    try {
      LogPart last = parts.peekLast();
      while (last != null && !closed && !files.inMemory() && findNext(last)) {
        last = parts.peekLast();
      }
    } catch (IOException _) {
      // the thread that reads meets it too, and says so
    }
    wake.release();
  }

  /** The next record that is there already; null when there is none or all is finished. */
  private @Nullable LogRecord read() throws IOException {
    wake.drainPermits();
    while (true) {
      // asked before the last look at the files: what was written before the end is seen
      boolean ended = !query.follow() || end.ended();
      LogRecord line = scan();
      if (line != null) {
        if (past(line.time())) {
          finished = true;
          return null;
        }
        if (query.wants(line)) {
          return line;
        }
      } else if (!nextPart()) {
        if (!ended) {
          return null;
        }
        return rest();
      }
    }
  }

  /** The next piece of the current part. */
  private @Nullable LogRecord scan() throws IOException {
    if (scanner == null) {
      return null;
    }
    while (skipAhead().advance()) {
      if (header.parse(scanner.bytes(), scanner.start(), scanner.end())
          && delivers(scanner.offset())) {
        return piece(scanner, !header.full());
      }
    }
    return null;
  }

  /** Passes over what the index says cannot contain the text. */
  private LineScanner skipAhead() {
    LineScanner here = Objects.requireNonNull(scanner);
    while (!skips.isEmpty() && skips.getFirst().from() <= here.nextOffset()) {
      LogIndex.Skip skip = skips.removeFirst();
      if (here.nextOffset() < skip.to()) {
        here = scannerOf(parts.getFirst(), skip.to());
        scanner = here;
      }
    }
    return here;
  }

  /** Begins to read a part. */
  private void enter(LogPart part, long offset) throws IOException {
    skips.clear();
    Optional<Path> index = files.index(part.generation());
    if (query.containing().isPresent() && index.isPresent()) {
      for (LogIndex.Skip skip : LogIndex.skips(part, index.get(), query.containing().get())) {
        if (skip.to() > offset) {
          skips.add(skip);
        }
      }
    }
    scanner = scannerOf(part, offset);
  }

  private boolean delivers(long offset) {
    LogPart.Position from = begin.get(header.stream());
    return from == null || part > from.part() || (part == from.part() && offset >= from.offset());
  }

  private LogRecord piece(LineScanner line, boolean partial) {
    byte[] bytes = Arrays.copyOfRange(line.bytes(), header.text(), line.end());
    return new LogRecord(header.time(), header.stream(), bytes, partial);
  }

  /** The last piece, when its writer was killed while it wrote it. */
  private @Nullable LogRecord rest() {
    finished = true;
    if (scanner != null
        && end.ended()
        && scanner.takeRest()
        && header.parse(scanner.bytes(), scanner.start(), scanner.end())) {
      LogRecord torn = piece(scanner, true);
      return query.wants(torn) ? torn : null;
    }
    return null;
  }

  private boolean past(Instant time) {
    return query.until().isPresent() && time.isAfter(query.until().get());
  }

  /** Goes on with the next generation; false when this is the last one now. */
  private boolean nextPart() throws IOException {
    LogPart part = parts.peek();
    if (part == null) {
      return false;
    }
    if (parts.size() == 1) {
      return query.follow() && findNext(part);
    }
    if (!leaving) {
      leaving = true; // what was written before the next one came is there now
      return true;
    }
    leaving = false;
    parts.remove();
    part.close();
    enter(parts.getFirst(), 0);
    gapAhead |= parts.getFirst().afterGap();
    this.part++;
    return true;
  }

  /** Adds the generation after the last one we know, once conmon writes another file. */
  private synchronized boolean findNext(LogPart last) throws IOException {
    if (!last.equals(parts.peekLast())) {
      return true; // the other thread was faster
    }
    Object key = last.generation().key();
    if (LogFiles.key(files.current()).map(key::equals).orElse(true)) {
      return false;
    }
    return files.unchanged(() -> findAfter(last, key));
  }

  private boolean findAfter(LogPart last, Object key) throws IOException {
    List<LogFiles.Generation> readable = files.readable();
    long number = last.generation().number();
    for (LogFiles.Generation generation : readable) {
      if (generation.key().equals(key)) {
        number = generation.number(); // it may have got its name since
      }
    }
    for (LogFiles.Generation generation : readable) {
      if (generation.number() > number || number == Long.MAX_VALUE) {
        try {
          parts.add(LogPart.open(generation, number));
          if (closed) {
            parts.forEach(LogPart::close);
          }
          return true;
        } catch (NoSuchFileException _) {
          // rotated out at this moment
        }
      }
    }
    return false;
  }

  private void awaitMore() throws InterruptedException {
    if (query.until().isEmpty()) {
      wake.acquire();
      return;
    }
    Duration left = Duration.between(clock.instant(), query.until().get());
    if (left.isNegative()) {
      finished = true;
    } else {
      wake.tryAcquire(left.toNanos() + 1, TimeUnit.NANOSECONDS);
    }
  }

  private void seek() throws IOException {
    List<LogPart> all = LogPart.openAll(files);
    parts.addAll(all);
    var search = new LogSearch(all);
    LogPart.Position from = search.start();
    if (query.since().isPresent()) {
      from = search.atOrAfter(query.since().get());
    }
    if (query.tail().isPresent()) {
      LogPart.Position to = search.end();
      if (query.until().isPresent()) {
        to = search.atOrAfter(query.until().get().plusNanos(1));
      }
      begin = search.tail(from, to, query.tail().getAsInt(), query);
      from = begin.values().stream().reduce(to, (a, b) -> b.before(a) ? b : a);
    }
    gapAhead = !all.isEmpty() && all.getFirst().afterGap() && from.equals(search.start());
    incomplete = gapAhead || all.stream().skip(from.part() + 1L).anyMatch(LogPart::afterGap);
    begin(from);
  }

  private void begin(LogPart.Position from) throws IOException {
    while (part < from.part() && parts.size() > 1) {
      parts.remove().close();
      part++;
    }
    LogPart first = parts.peek();
    if (first != null) {
      enter(first, from.offset());
    }
  }

  private LineScanner scannerOf(LogPart part, long offset) {
    // a reader that does not follow stops where the log ended when it was opened
    long limit = query.follow() ? Long.MAX_VALUE : part.size();
    int buffer = limit - offset < SMALL_BUFFER ? SMALL_BUFFER : BUFFER;
    return new LineScanner(part.channel(), offset, limit, buffer);
  }

  private static AgentException cannotRead(IOException e) {
    return new AgentException.Internal("cannot read the log: " + e.getMessage(), e);
  }
}

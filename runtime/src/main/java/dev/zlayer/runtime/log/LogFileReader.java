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
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads a container's output on the caller's thread. What is there when it is opened stays readable
 * however much is rotated meanwhile; a follower that is slower than the container for longer than
 * the log is large goes on with the oldest generation that is left.
 */
public final class LogFileReader implements LogReader {
  private static final int BUFFER = 256 << 10;

  /** For short logs, which most jobs have; still more than any line that conmon writes. */
  private static final int SMALL_BUFFER = 32 << 10;

  private final LogFiles files;
  private final LogQuery query;
  private final EndSignal end;
  private final InstantSource clock;
  private final Semaphore wake = new Semaphore(0);
  private final List<DirectoryWatchLoop.Registration> registrations = new ArrayList<>();

  private final LineHeader header = new LineHeader();
  private final LineJoiner joiner = new LineJoiner();
  private final Deque<LogPart> parts = new ConcurrentLinkedDeque<>();
  private @Nullable LineScanner scanner;

  /** Records that end before this place are only read for what follows. */
  private long deliverFrom;

  /** How many parts come before the one that {@link #deliverFrom} is a place in. */
  private int partsToPass;

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
    var reader = new LogFileReader(files, query, end, clock);
    try {
      if (query.follow()) {
        reader.registrations.add(watch.watch(files.directory(), reader.wake::release));
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
  public void close() {
    closed = true;
    wake.release();
    registrations.forEach(DirectoryWatchLoop.Registration::close);
    parts.forEach(LogPart::close);
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

  /** Reads on in the current part up to a complete record. */
  private @Nullable LogRecord scan() throws IOException {
    if (scanner == null) {
      return null;
    }
    while (scanner.advance()) {
      if (header.parse(scanner.bytes(), scanner.start(), scanner.end())) {
        LogRecord line = joiner.add(header, scanner.bytes(), scanner.end());
        if (line != null && delivers(scanner.offset())) {
          return line;
        }
      }
    }
    return null;
  }

  private boolean delivers(long offset) {
    return partsToPass < 0 || (partsToPass == 0 && offset >= deliverFrom);
  }

  /** What was begun and not ended, at the end of all. */
  private @Nullable LogRecord rest() {
    if (scanner != null
        && end.ended()
        && scanner.takeRest()
        && header.parse(scanner.bytes(), scanner.start(), scanner.end())) {
      LogRecord torn = joiner.add(header, scanner.bytes(), scanner.end());
      scanner = null;
      if (torn != null) {
        var cut = new LogRecord(torn.time(), torn.stream(), torn.bytes(), true);
        if (query.wants(cut)) {
          return cut;
        }
      }
    }
    scanner = null;
    Optional<LogRecord> begun = joiner.flush();
    while (begun.isPresent() && !query.wants(begun.get())) {
      begun = joiner.flush();
    }
    finished = begun.isEmpty();
    return begun.orElse(null);
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
      // conmon left this one, but may have written to it since we looked: look once more
      return query.follow() && findNext(part);
    }
    parts.remove();
    part.close();
    scanner = scannerOf(parts.getFirst(), 0);
    partsToPass--;
    return true;
  }

  /** Adds the generation after the last one we know, once conmon writes another file. */
  private boolean findNext(LogPart last) throws IOException {
    Object key = last.generation().key();
    if (LogFiles.key(files.current()).map(key::equals).orElse(true)) {
      return false;
    }
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
          parts.add(LogPart.open(generation));
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
      from = search.tail(from, to, query.tail().getAsInt(), query);
    }
    if (from.equals(search.start())) {
      begin(from, from);
    } else {
      begin(search.firstPiece(from), from);
    }
  }

  /** Reads from one place and delivers from another behind it. */
  private void begin(LogPart.Position read, LogPart.Position deliver) {
    for (int i = 0; i < read.part() && parts.size() > 1; i++) {
      parts.remove().close();
    }
    LogPart first = parts.peek();
    if (first != null) {
      scanner = scannerOf(first, read.offset());
      deliverFrom = deliver.offset();
      partsToPass = deliver.part() - read.part();
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

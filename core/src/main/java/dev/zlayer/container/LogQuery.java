package dev.zlayer.container;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Which part of the output.
 *
 * @param tail only the last n lines (of those in the time window)
 * @param follow go on with new output until the container has ended and all is read
 * @param containing only lines with this text are of interest: a reader may leave others out, and
 *     need not
 */
public record LogQuery(
    OptionalInt tail,
    Optional<Instant> since,
    Optional<Instant> until,
    boolean stdout,
    boolean stderr,
    boolean follow,
    Optional<Containing> containing) {
  /** A text in a line of output. */
  public record Containing(String text, boolean ignoreCase) {}

  public static final LogQuery ALL =
      new LogQuery(OptionalInt.empty(), Optional.empty(), Optional.empty(), true, true, false);

  public LogQuery(
      OptionalInt tail,
      Optional<Instant> since,
      Optional<Instant> until,
      boolean stdout,
      boolean stderr,
      boolean follow) {
    this(tail, since, until, stdout, stderr, follow, Optional.empty());
  }

  /** All lines of interest, however many are asked for. */
  public LogQuery searching(Containing text) {
    return new LogQuery(
        OptionalInt.empty(), since, until, stdout, stderr, follow, Optional.of(text));
  }

  public LogQuery withTail(int lines) {
    return new LogQuery(OptionalInt.of(lines), since, until, stdout, stderr, follow, containing);
  }

  public LogQuery following() {
    return new LogQuery(tail, since, until, stdout, stderr, true, containing);
  }

  public LogQuery withSince(Instant since) {
    return new LogQuery(tail, Optional.of(since), until, stdout, stderr, follow, containing);
  }

  public LogQuery withUntil(Instant until) {
    return new LogQuery(tail, since, Optional.of(until), stdout, stderr, follow, containing);
  }

  public LogQuery only(LogRecord.Stream stream) {
    return new LogQuery(
        tail,
        since,
        until,
        stream == LogRecord.Stream.STDOUT,
        stream == LogRecord.Stream.STDERR,
        follow,
        containing);
  }

  /** Whether the query asks for this record, tail aside. */
  public boolean wants(LogRecord line) {
    boolean stream = line.stream() == LogRecord.Stream.STDOUT ? stdout : stderr;
    return stream
        && since.map(from -> !line.time().isBefore(from)).orElse(true)
        && until.map(to -> !line.time().isAfter(to)).orElse(true);
  }
}

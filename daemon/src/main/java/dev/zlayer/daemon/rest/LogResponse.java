package dev.zlayer.daemon.rest;

import dev.zlayer.container.LogPosition;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.stream.ExecLines;
import dev.zlayer.engine.secret.RedactingLogReader;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.LogReader;
import dev.zlayer.spec.form.Doc;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Output over the wire: which part is asked for, and how lines are written. */
final class LogResponse {
  /** A line of output or a part of one. */
  @Doc("A line of output, or a part of one: all of a stream in a row are what was written to it.")
  record Line(
      Instant time,
      String stream,
      @Doc("Without the line end.") Optional<String> text,
      @Doc("In base64, instead of text, when it is not UTF-8.") Optional<String> bytes,
      @Doc("True when no line end follows it; absent otherwise.") Optional<Boolean> partial,
      @Doc("True when output before it is missing, or may be, since the log was rotated.")
          Optional<Boolean> gap) {}

  /** At both ends of {@link Redaction#MARK}. */
  private static final Pattern BRACKETS = Pattern.compile("[\\[\\]]");

  private static final String GAP_HEADER = "Zlayer-Gap";
  private static final int BUFFER = 64 << 10;

  private LogResponse() {}

  static Route parameters(Route route) {
    return route
        .withFlag("follow", "Follow new output until it exits.")
        .withNumber("tail", "Number of lines from the end.")
        .with("since", "From this time, or this duration ago.")
        .with("until", "Until this time, or this duration ago.")
        .with("grep", "Only lines with this text; not tail together with follow.")
        .withFlag("ignore_case", "Lines with the text in upper or lower case.")
        .withFlag("stdout", "Include standard output (default: true).")
        .withFlag("stderr", "Include standard error (default: true).")
        .with(
            "format",
            "raw for the bytes alone, with the header Zlayer-Gap: true when output is missing"
                + " before or between them, else broken off where output is lost later; frames for"
                + " binary records: seconds (8 bytes), nanoseconds (4), flags (1: stderr 1, partial"
                + " 2, problem 4, gap 8), length (4), content.")
        .streams(Line.class, "Lines, long or unfinished ones in parts.");
  }

  static LogQuery query(ApiRequest call, Instant now) {
    var query =
        new LogQuery(
            call.number("tail"),
            call.time("since", now),
            call.time("until", now),
            call.flag("stdout", true),
            call.flag("stderr", true),
            call.flag("follow", false));
    return text(call)
        .map(text -> query.searching(new LogQuery.Containing(written(text), text.ignoreCase())))
        .orElse(query);
  }

  private static Optional<LogQuery.Containing> text(ApiRequest call) {
    boolean ignoreCase = call.flag("ignore_case", false);
    return call.query("grep")
        .filter(text -> !text.isEmpty())
        .map(text -> new LogQuery.Containing(text, ignoreCase));
  }

  /**
   * What of a text the container itself must have written: in place of a secret callers see a mark,
   * and a piece without brackets is within one or outside.
   */
  static String written(LogQuery.Containing text) {
    return BRACKETS
        .splitAsStream(text.text())
        .filter(piece -> !Redaction.MARK.contains(piece.toLowerCase(Locale.ROOT)))
        .max(Comparator.comparingInt(String::length))
        .orElse("");
  }

  /** With only the lines that are asked for. */
  private static LogReader matching(ApiRequest call, LogReader reader) {
    Optional<LogQuery.Containing> text = text(call);
    return text.isEmpty() ? reader : new MatchingLogReader(reader, text.get(), call.number("tail"));
  }

  private static void requireSearchable(ApiRequest call) {
    Optional<LogQuery.Containing> text = text(call);
    if (text.isPresent() && call.number("tail").isPresent() && call.flag("follow", false)) {
      throw new AgentException.InvalidSpec("grep is possible with tail or with follow, not both");
    }
    if (text.filter(one -> one.text().indexOf('\n') >= 0).isPresent()) {
      throw new AgentException.InvalidSpec("grep finds text in one line, so it has no line break");
    }
  }

  /** What was printed, without secrets. */
  static ApiResponse answer(
      ApiRequest call, Supplier<Redaction> redaction, Supplier<LogReader> open) {
    requireSearchable(call);
    LogReader reader = matching(call, new RedactingLogReader(open.get(), redaction));
    if (call.query("format").filter("raw"::equals).isPresent()) {
      boolean incomplete = reader.incomplete();
      return new ApiResponse.Bytes(
          "application/octet-stream",
          incomplete ? Map.of(GAP_HEADER, "true") : Map.of(),
          ApiResponse.BytesWriter.closing(reader::close, out -> raw(reader, incomplete, out)));
    }
    if (call.query("format").filter("frames"::equals).isPresent()) {
      return new ApiResponse.Bytes(
          FrameWriter.TYPE,
          Map.of(),
          ApiResponse.BytesWriter.closing(reader::close, out -> frames(call, reader, out)));
    }
    return new ApiResponse.Lines(
        out -> {
          try (reader) {
            out.flush();
            pass(reader, out::flush, line -> out.add(json(line, reader.gap())));
          }
        });
  }

  /**
   * Bytes have no place for a mark. That some are missing is said by a header; what is lost later,
   * since the caller reads too slowly, breaks off an answer that promised all of them.
   */
  private static void raw(LogReader reader, boolean incomplete, OutputStream to)
      throws IOException, InterruptedException {
    var out = new BufferedOutputStream(to, BUFFER);
    pass(
        reader,
        out::flush,
        line -> {
          if (reader.gap() && !incomplete) {
            out.flush();
            throw new IOException("output was dropped by log rotation before it was read");
          }
          out.write(line.bytes());
          if (!line.partial()) {
            out.write('\n');
          }
        });
    out.flush();
  }

  /** For callers that want every byte fast; what fails on the way is the last frame. */
  private static void frames(ApiRequest call, LogReader reader, OutputStream to)
      throws IOException, InterruptedException {
    var out = new FrameWriter(to);
    out.flush();
    try {
      out.copy(reader, new LogPosition());
    } catch (AgentException e) {
      out.problem(e, call.id());
    }
    out.flush();
  }

  /** Where a line goes. */
  @FunctionalInterface
  interface Writing {
    void write(LogRecord line) throws IOException;
  }

  /** Sends what there is whenever the next line takes its time. */
  @FunctionalInterface
  interface Flushing {
    void flush() throws IOException;
  }

  /** A large log goes in large pieces, yet nobody who follows waits for a line that is there. */
  static void pass(LogReader reader, Flushing flushing, Writing writing)
      throws IOException, InterruptedException {
    Runnable waiting =
        () -> {
          try {
            flushing.flush();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        };
    try (reader) {
      for (var line = reader.next(waiting); line.isPresent(); line = reader.next(waiting)) {
        writing.write(line.get());
      }
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private static Json json(LogRecord line, boolean gap) {
    return ExecLines.output(line.stream().name().toLowerCase(Locale.ROOT), line.bytes())
        .put("time", line.time())
        .putIf("partial", Optional.of(true).filter(_ -> line.partial()))
        .putIf("gap", Optional.of(true).filter(_ -> gap))
        .build();
  }
}

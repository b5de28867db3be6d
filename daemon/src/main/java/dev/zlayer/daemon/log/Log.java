package dev.zlayer.daemon.log;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Tells facts, one line each. A line is a short sentence that is always the same for the same kind
 * of fact, and the particulars by name, so that it can be searched and counted.
 */
public final class Log {
  /** How much a fact matters. */
  public enum Level {
    DEBUG,
    INFO,
    WARN,
    ERROR
  }

  /** How a line is written. */
  public enum Format {
    TEXT,
    JSON
  }

  private final PrintStream out;
  private final Level least;
  private final Format format;
  private final InstantSource clock;

  public Log(PrintStream out, Level least, Format format, InstantSource clock) {
    this.out = out;
    this.least = least;
    this.format = format;
    this.clock = clock;
  }

  /** Tells nothing, for those who embed the agent and do not want to hear. */
  public static Log silent() {
    return new Log(
        new PrintStream(
            java.io.OutputStream.nullOutputStream(),
            false,
            java.nio.charset.StandardCharsets.UTF_8),
        Level.ERROR,
        Format.TEXT,
        () -> Instant.EPOCH);
  }

  public void debug(String sentence, Map<String, ?> facts) {
    write(Level.DEBUG, sentence, facts);
  }

  public void info(String sentence, Map<String, ?> facts) {
    write(Level.INFO, sentence, facts);
  }

  public void warn(String sentence, Map<String, ?> facts) {
    write(Level.WARN, sentence, facts);
  }

  /** A fault of ours, with its stack. */
  public void error(String sentence, Throwable thrown, Map<String, ?> facts) {
    write(Level.ERROR, sentence, facts, Optional.of(thrown));
  }

  public void write(Level level, String sentence, Map<String, ?> facts) {
    write(level, sentence, facts, Optional.empty());
  }

  public boolean tells(Level level) {
    return level.compareTo(least) >= 0;
  }

  public void write(
      Level level, String sentence, Map<String, ?> facts, Optional<Throwable> thrown) {
    if (!tells(level)) {
      return;
    }
    var sorted = new TreeMap<String, Object>(facts);
    String line =
        switch (format) {
          case TEXT -> text(level, sentence, sorted, thrown);
          case JSON -> json(level, sentence, sorted, thrown);
        };
    out.print(line + "\n"); // in one piece, so that lines of two threads never mix
    out.flush();
  }

  private String text(
      Level level, String sentence, Map<String, Object> facts, Optional<Throwable> thrown) {
    var line =
        new StringBuilder()
            .append(now())
            .append(level.name().length() == 4 ? " " + level + "  " : " " + level + " ")
            .append(sentence);
    facts.forEach((name, value) -> line.append(' ').append(name).append('=').append(word(value)));
    thrown.ifPresent(error -> line.append('\n').append(stack(error)));
    return line.toString();
  }

  private String json(
      Level level, String sentence, Map<String, Object> facts, Optional<Throwable> thrown) {
    var line =
        Json.object()
            .put("time", now())
            .put("level", level.name().toLowerCase(Locale.ROOT))
            .put("message", sentence);
    facts.forEach(line::put);
    thrown.ifPresent(error -> line.put("stack", stack(error)));
    return JsonText.print(line.build());
  }

  private Instant now() {
    return clock.instant().truncatedTo(ChronoUnit.MILLIS);
  }

  /** A value with blanks or controls is quoted, so that a line stays a line. */
  private static String word(Object value) {
    String text = String.valueOf(value);
    return text.matches("[^\\s\"=\\p{Cntrl}]+") ? text : JsonText.print(new Json.Str(text));
  }

  private static String stack(Throwable thrown) {
    var text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text));
    return text.toString().stripTrailing();
  }
}

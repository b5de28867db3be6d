package dev.zlayer.cli.print;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.Output;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The output of one or several containers. That of a single one is passed on byte for byte; lines
 * of several are printed whole, each behind the name it came from. Standard error stays standard
 * error. May be used from several threads.
 */
public final class LogPrinter {
  private static final List<String> COLOURS =
      List.of("\033[36m", "\033[33m", "\033[32m", "\033[35m", "\033[34m", "\033[96m", "\033[93m");
  private static final byte[] PLAIN = "\033[0m".getBytes(StandardCharsets.US_ASCII);

  /** A named line that grows over this is printed in parts. */
  private static final int LONGEST_LINE = 1 << 20;

  private final PrintStream out;
  private final PrintStream err;
  private final boolean colours;
  private final boolean times;
  private final boolean escapeOut;
  private final boolean escapeErr;
  private int width;
  private int names;

  /** Prints the bytes as they are, wherever they go. */
  public LogPrinter(PrintStream out, PrintStream err, boolean colours, boolean times) {
    this(out, err, colours, times, false, false);
  }

  private LogPrinter(
      PrintStream out,
      PrintStream err,
      boolean colours,
      boolean times,
      boolean escapeOut,
      boolean escapeErr) {
    this.out = out;
    this.err = err;
    this.colours = colours;
    this.times = times;
    this.escapeOut = escapeOut;
    this.escapeErr = escapeErr;
  }

  /**
   * For what was printed earlier.
   *
   * @param raw control characters are passed to a terminal, too
   */
  public static LogPrinter of(Session session, boolean times, boolean raw) {
    return new LogPrinter(
        session.out(),
        session.err(),
        session.colours(),
        times,
        !raw && session.terminal(),
        !raw && session.errorTerminal());
  }

  /** One container whose output is passed on alone. */
  public Source source() {
    return new Source("", "");
  }

  /** One of several; makes room for its name, so that all columns begin at the same place. */
  public synchronized Source source(String name) {
    width = Math.max(width, name.length());
    return new Source(name, COLOURS.get(names++ % COLOURS.size()));
  }

  /** The output of one container. */
  public final class Source {
    private final String name;
    private final String colour;
    private final Line stdout = new Line(out, escapeOut);
    private final Line stderr = new Line(err, escapeErr);

    private Source(String name, String colour) {
      this.name = name;
      this.colour = colour;
    }

    public void print(Output piece) {
      put(piece);
      flush();
    }

    /** Prints it with the next {@link #flush}. */
    public void put(Output piece) {
      synchronized (LogPrinter.this) {
        if (piece.gap()) {
          err.println(
              "zlayer: %soutput before this point is missing or may be: the log was rotated"
                  .formatted(name.isEmpty() ? "" : name + ": "));
        }
        (piece.stderr() ? stderr : stdout).print(this, piece);
      }
    }

    public void flush() {
      synchronized (LogPrinter.this) {
        out.flush();
        err.flush();
      }
    }

    /** Nothing more comes: prints what waited for the end of its line. */
    public void end() {
      synchronized (LogPrinter.this) {
        stdout.end(this);
        stderr.end(this);
        flush();
      }
    }

    private byte[] head(String time) {
      var text = new StringBuilder();
      if (!name.isEmpty()) {
        text.append(colours ? colour : "").append(name);
        text.append(" ".repeat(Math.max(0, width - name.length())));
        text.append(colours ? " |\033[0m " : " | ");
      }
      return text.append(time).toString().getBytes(StandardCharsets.UTF_8);
    }
  }

  /** The line of one stream that is being printed. */
  private final class Line {
    private final PrintStream to;
    private final boolean escapes;
    private final ControlEscaper escaper = new ControlEscaper();
    private final ByteArrayOutputStream waiting = new ByteArrayOutputStream();
    private boolean begun;

    Line(PrintStream to, boolean escapes) {
      this.to = to;
      this.escapes = escapes;
    }

    void print(Source source, Output piece) {
      if (!begun) {
        waiting.writeBytes(source.head(times ? time(piece) : ""));
        begun = true;
      }
      byte[] bytes = piece.bytes();
      waiting.writeBytes(escapes ? escaper.print(bytes, !piece.partial()) : bytes);
      if (!piece.partial()) {
        endLine(source);
      } else if (source.name.isEmpty()) {
        write();
      } else if (waiting.size() >= LONGEST_LINE) {
        endLine(source);
      }
    }

    private String time(Output piece) {
      return piece.time().map(time -> time + " ").orElse("");
    }

    private void endLine(Source source) {
      if (!source.name.isEmpty() && escaper.coloured()) {
        waiting.writeBytes(PLAIN);
      }
      waiting.write('\n');
      begun = false;
      write();
    }

    private void write() {
      byte[] bytes = waiting.toByteArray();
      waiting.reset();
      to.write(bytes, 0, bytes.length);
    }

    void end(Source source) {
      if (escapes) {
        waiting.writeBytes(escaper.end());
      }
      if (begun && !source.name.isEmpty()) {
        endLine(source);
      } else if (source.name.isEmpty() && escaper.coloured()) {
        waiting.writeBytes(PLAIN);
      }
      if (waiting.size() > 0) {
        write();
      }
    }
  }
}

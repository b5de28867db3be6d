package dev.zlayer.cli.print;

import dev.zlayer.cli.client.Output;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Lines of one or several containers, each behind the name it came from. Standard error stays
 * standard error. May be used from several threads.
 */
public final class LogPrinter {
  private static final List<String> COLOURS =
      List.of("\033[36m", "\033[33m", "\033[32m", "\033[35m", "\033[34m", "\033[96m", "\033[93m");
  private static final String PLAIN = "\033[0m";

  private final PrintStream out;
  private final PrintStream err;
  private final boolean colours;
  private final boolean times;
  private int width;
  private int names;

  public LogPrinter(PrintStream out, PrintStream err, boolean colours, boolean times) {
    this.out = out;
    this.err = err;
    this.colours = colours;
    this.times = times;
  }

  /** Makes room for a name, so that all columns begin at the same place, and gives it a colour. */
  public synchronized String prefix(String name) {
    width = Math.max(width, name.length());
    String colour = COLOURS.get(names++ % COLOURS.size());
    return colours ? colour + name : name;
  }

  /**
   * Prints one line.
   *
   * @param prefix from {@link #prefix}, or empty
   */
  public synchronized void print(String prefix, Output line) {
    PrintStream stream = line.stderr() ? err : out;
    var text = new StringBuilder();
    if (!prefix.isEmpty()) {
      int visible = prefix.replaceAll("\033\\[[0-9;]*m", "").length();
      text.append(prefix).append(" ".repeat(Math.max(0, width - visible)));
      text.append(colours ? " |" + PLAIN + " " : " | ");
    }
    if (times) {
      line.time().ifPresent(time -> text.append(time).append(' '));
    }
    byte[] head = text.toString().getBytes(StandardCharsets.UTF_8);
    stream.write(head, 0, head.length);
    stream.write(line.bytes(), 0, line.bytes().length);
    if (!line.partial() || !prefix.isEmpty()) {
      stream.write('\n');
    }
    stream.flush();
  }
}

package dev.zlayer.cli.print;

import java.io.PrintStream;
import java.util.List;

/**
 * Lines drawn over themselves. A frame that is longer than the window is cut at its end, since what
 * has scrolled away cannot be drawn over. Owned by one thread.
 */
public final class LiveScreen implements AutoCloseable {
  private static final String CLEAR_LINE = "\033[2K";
  private static final String CLEAR_BELOW = "\033[J";

  private final PrintStream out;
  private int drawn;

  public LiveScreen(PrintStream out) {
    this.out = out;
  }

  /** Replaces the last frame. */
  public void draw(List<String> lines, int rows, int columns) {
    int most = Math.max(1, rows - 1);
    List<String> shown = lines.size() <= most ? lines : lines.subList(0, most);
    var text = new StringBuilder(up());
    for (String line : shown) {
      text.append(CLEAR_LINE)
          .append(cut(TerminalText.escapeExceptColours(line), columns))
          .append('\n');
    }
    TerminalText.writeRaw(out, text.append(CLEAR_BELOW));
    out.flush();
    drawn = shown.size();
  }

  /** Puts lines above the frame for good; the next frame follows them. */
  public void above(List<String> lines) {
    var text = new StringBuilder(up());
    lines.forEach(
        line ->
            text.append(CLEAR_LINE).append(TerminalText.escapeExceptColours(line)).append('\n'));
    TerminalText.writeRaw(out, text.append(CLEAR_BELOW));
    out.flush();
    drawn = 0;
  }

  /** Leaves the last frame where it is. */
  @Override
  public void close() {
    drawn = 0;
    out.flush();
  }

  /** Takes the last frame away. */
  public void clear() {
    TerminalText.writeRaw(out, up() + CLEAR_BELOW);
    out.flush();
    drawn = 0;
  }

  private String up() {
    return drawn == 0 ? "" : "\033[" + drawn + "A";
  }

  /** A line of colours is never cut: it would lose the end of its colour. */
  private static String cut(String line, int columns) {
    return columns <= 0 || Style.width(line) <= columns || line.indexOf('\033') >= 0
        ? line
        : line.substring(0, columns);
  }
}

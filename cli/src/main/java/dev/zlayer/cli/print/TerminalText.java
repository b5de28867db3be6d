package dev.zlayer.cli.print;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * Text of images, containers and files as a terminal may get it. Control characters would move the
 * cursor, rewrite lines that were printed before, set titles or type answers; they are written as
 * {@code \\u001b}, which also keeps JSON the same value. So are characters that reverse the
 * direction of what follows.
 */
public final class TerminalText {
  /** Those of Style and LogPrinter; on its own, since most commands print none. */
  private static final class Colours {
    static final Pattern OWN = Pattern.compile("\033\\[(?:0|1|2|3[1-6]|9[36])m");
  }

  private TerminalText() {}

  /** One line or one cell: no line feeds and tabs either. */
  public static String escapeLine(String text) {
    return escape(text, false);
  }

  /** Lines of text: line feeds and tabs stay. */
  public static String escape(String text) {
    return escape(text, true);
  }

  /** Lines that may hold the colours of {@link Style} and {@link LogPrinter}, and nothing else. */
  public static String escapeExceptColours(String text) {
    if (text.indexOf('\033') < 0) {
      return escape(text);
    }
    var result = new StringBuilder();
    var colours = Colours.OWN.matcher(text);
    int from = 0;
    while (colours.find()) {
      result.append(escape(text.substring(from, colours.start()))).append(colours.group());
      from = colours.end();
    }
    return result.append(escape(text.substring(from))).toString();
  }

  /** Writes sequences of our own as they are: views that draw over themselves need them. */
  public static void writeRaw(PrintStream out, CharSequence text) {
    byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
    out.write(bytes, 0, bytes.length);
    out.flush();
  }

  /** A stream whose printed text is escaped; bytes that are written pass as they are. */
  public static PrintStream escaping(PrintStream out, boolean colours) {
    return out instanceof Escaping ? out : new Escaping(out, colours);
  }

  private static String escape(String text, boolean lines) {
    StringBuilder result = null;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean harmless = (lines && (c == '\n' || c == '\t')) || !dangerous(c);
      if (result == null && !harmless) {
        result = new StringBuilder(text.length() + 16).append(text, 0, i);
      }
      if (result != null) {
        if (harmless) {
          result.append(c);
        } else {
          result.append("\\u%04x".formatted((int) c));
        }
      }
    }
    return result == null ? text : result.toString();
  }

  private static boolean dangerous(char c) {
    return Character.isISOControl(c)
        || (c >= '\u202a' && c <= '\u202e')
        || (c >= '\u2066' && c <= '\u2069')
        || c == '\u2028'
        || c == '\u2029';
  }

  private static final class Escaping extends PrintStream {
    private final boolean colours;

    Escaping(PrintStream out, boolean colours) {
      super(out, false, StandardCharsets.UTF_8);
      this.colours = colours;
    }

    @Override
    public void print(String text) {
      String printed = String.valueOf(text);
      super.print(colours ? escapeExceptColours(printed) : escape(printed));
    }

    @Override
    public void print(Object thing) {
      print(String.valueOf(thing));
    }

    @Override
    public void print(char c) {
      print(String.valueOf(c));
    }

    @Override
    public void print(char[] text) {
      print(String.valueOf(text));
    }
  }
}

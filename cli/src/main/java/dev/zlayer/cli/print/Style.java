package dev.zlayer.cli.print;

import java.util.regex.Pattern;

/** Colours for words that tell how things stand; plain text where colours are not wanted. */
public final class Style {
  public static final Style PLAIN = new Style(false);

  private static final Pattern ESCAPES = Pattern.compile("\033\\[[0-9;?]*[A-Za-z]");
  private static final String GREEN = "\033[32m";
  private static final String YELLOW = "\033[33m";
  private static final String RED = "\033[31m";
  private static final String FAINT = "\033[2m";
  private static final String BOLD = "\033[1m";
  private static final String END = "\033[0m";

  private final boolean colours;

  private Style(boolean colours) {
    this.colours = colours;
  }

  public static Style of(boolean colours) {
    return new Style(colours);
  }

  /** A word for a state, in the colour of its meaning. */
  public String state(String word) {
    return switch (word.replaceAll("[ (].*", "")) {
      case "running", "idle", "healthy", "completed", "ready", "enabled", "stable", "ok" ->
          paint(GREEN, word);
      case "failed", "unhealthy", "crash_loop", "dead", "isolated", "unknown" -> paint(RED, word);
      case "exited", "stopped", "created", "disabled", "cancelled", "removed", "skipped" ->
          paint(FAINT, word);
      default -> paint(YELLOW, word);
    };
  }

  public String bold(String text) {
    return paint(BOLD, text);
  }

  public String faint(String text) {
    return paint(FAINT, text);
  }

  public String bad(String text) {
    return paint(RED, text);
  }

  /** How many columns a text takes, whatever its colours. */
  static int width(String text) {
    return ESCAPES.matcher(text).replaceAll("").length();
  }

  private String paint(String colour, String text) {
    return colours && !text.isEmpty() && !text.equals("-") ? colour + text + END : text;
  }
}

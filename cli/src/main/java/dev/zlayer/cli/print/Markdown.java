package dev.zlayer.cli.print;

/** Text inside a table of Markdown. */
public final class Markdown {
  private Markdown() {}

  public static String cell(String... lines) {
    return String.join(" ", lines).replace("|", "\\|").replace("<", "&lt;");
  }
}

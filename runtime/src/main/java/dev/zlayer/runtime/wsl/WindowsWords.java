package dev.zlayer.runtime.wsl;

/**
 * One word of a command line for a program of Windows, by the rules of its C library: in quotes, a
 * quote inside has a backslash before it, and backslashes before a quote are doubled. Pure.
 */
final class WindowsWords {
  private WindowsWords() {}

  static String quote(String word) {
    if (!word.isEmpty() && word.chars().noneMatch(c -> c <= ' ' || c == '"')) {
      return word;
    }
    var quoted = new StringBuilder("\"");
    int backslashes = 0;
    for (int i = 0; i < word.length(); i++) {
      char c = word.charAt(i);
      if (c == '"') {
        quoted.repeat('\\', backslashes + 1);
      }
      backslashes = c == '\\' ? backslashes + 1 : 0;
      quoted.append(c);
    }
    return quoted.repeat('\\', backslashes).append('"').toString();
  }
}

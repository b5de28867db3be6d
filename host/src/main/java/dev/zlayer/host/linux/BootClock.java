package dev.zlayer.host.linux;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The time since the machine started, with the time that it was suspended; nobody can set it. It is
 * read where shells read it as well, so that both mean the same.
 */
public final class BootClock {
  private static final Path FILE = Path.of("/proc/uptime");
  private static final int MILLIS = 1000;

  private BootClock() {}

  /** In milliseconds, of which the last digit is always 0. */
  public static long millis() {
    try {
      return parse(Files.readString(FILE));
    } catch (IOException e) {
      throw new AgentException.Internal("cannot read " + FILE, e);
    }
  }

  /** From the text of that file. */
  static long parse(String text) {
    String first = text.substring(0, text.indexOf(' '));
    return Math.round(Double.parseDouble(first) * MILLIS);
  }
}

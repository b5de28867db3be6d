package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Whether a person, or another program, is at the other end of a descriptor. */
public final class Terminals {
  private Terminals() {}

  /** Reads where the descriptor leads, which is cheaper than the first native call of a process. */
  public static boolean isTerminal(int descriptor) {
    String target = target(descriptor);
    return target.startsWith("/dev/pts/")
        || target.startsWith("/dev/tty")
        || target.equals("/dev/console");
  }

  /** Whether nobody reads there who could end: a file, a terminal, nothing at all. */
  public static boolean isWithoutReader(int descriptor) {
    return isTerminal(descriptor)
        || target(descriptor).equals("/dev/null")
        || Files.isRegularFile(Path.of("/proc/self/fd/" + descriptor));
  }

  private static String target(int descriptor) {
    try {
      return Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)).toString();
    } catch (IOException | UnsupportedOperationException _) {
      return "";
    }
  }
}

package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Whether a person is at the other end of a descriptor. */
public final class Terminals {
  private Terminals() {}

  /** Reads where the descriptor leads, which is cheaper than the first native call of a process. */
  public static boolean isTerminal(int descriptor) {
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)).toString();
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException _) {
      return false;
    }
  }
}

package dev.zlayer.runtime.life;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.Signal;

/** What a number tells about the end of a process. Pure. */
public final class ExitCodes {
  private static final int SIGNALLED = 128;
  private static final int LAST_SIGNAL = 64;

  private ExitCodes() {}

  /** Whether a number can mean that SIGKILL ended it, by whomever it was sent. */
  public static boolean killed(int code) {
    return code == SIGNALLED + Signal.KILL.number();
  }

  /**
   * Shells, monitors and init processes write 128 + n for signal n. Where nobody knows which it
   * was, it counts as a signal, which is far more frequent.
   */
  public static ExitStatus of(int code) {
    return code > SIGNALLED && code <= SIGNALLED + LAST_SIGNAL
        ? new ExitStatus.Signalled(new Signal(code - SIGNALLED))
        : new ExitStatus.Code(code);
  }
}

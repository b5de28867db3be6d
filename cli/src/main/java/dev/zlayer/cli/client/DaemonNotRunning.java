package dev.zlayer.cli.client;

import dev.zlayer.error.Blame;
import java.net.ConnectException;
import java.nio.file.Path;

/** Nobody answers, or not to us; the message says what to do about it. */
public final class DaemonNotRunning extends ConnectionLost {
  private final Blame blame;
  private final boolean denied;

  DaemonNotRunning(String message, Blame blame, Throwable cause) {
    this(message, blame, false, cause);
  }

  private DaemonNotRunning(String message, Blame blame, boolean denied, Throwable cause) {
    super(message, cause);
    this.blame = blame;
    this.denied = denied;
  }

  /** Nobody listens at the socket. */
  public static DaemonNotRunning at(Path socket) {
    return new DaemonNotRunning(
        "no daemon is running at %s; start one with 'zlayer daemon start'".formatted(socket),
        Blame.SELF,
        new ConnectException("nobody listens"));
  }

  static DaemonNotRunning denied(String message, Throwable cause) {
    return new DaemonNotRunning(message, Blame.SELF, true, cause);
  }

  /** Whether there may be a daemon, which this user must not use. */
  boolean denied() {
    return denied;
  }

  @Override
  public Blame blame() {
    return blame;
  }
}

package dev.zlayer.cli.client;

import dev.zlayer.error.Blame;

/** Nobody answers, or not to us; the message says what to do about it. */
public final class DaemonNotRunning extends ConnectionLost {
  private final Blame blame;

  DaemonNotRunning(String message, Blame blame, Throwable cause) {
    super(message, cause);
    this.blame = blame;
  }

  @Override
  public Blame blame() {
    return blame;
  }
}

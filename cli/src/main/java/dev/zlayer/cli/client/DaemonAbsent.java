package dev.zlayer.cli.client;

import dev.zlayer.error.Blame;

/** Nobody answers, or not to us; the message says what to do about it. */
public final class DaemonAbsent extends DaemonLost {
  private final Blame blame;

  DaemonAbsent(String message, Blame blame, Throwable cause) {
    super(message, cause);
    this.blame = blame;
  }

  @Override
  public Blame blame() {
    return blame;
  }
}

package dev.zlayer.cli.client;

import dev.zlayer.error.Blame;
import org.jspecify.annotations.Nullable;

/** The daemon was there and went away in the middle; the work it had begun goes on. */
public sealed class ConnectionLost extends RuntimeException permits DaemonNotRunning {
  public ConnectionLost(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  public Blame blame() {
    return Blame.OUTSIDE;
  }
}

package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.time.Duration;

/** Gives an I/O failure its kind: interrupted, out of time, or the network's. */
final class HttpFailure {
  private HttpFailure() {}

  /** The deadline of an exchange passed while its body was read. */
  static final class Expired extends IOException {
    private final transient Duration limit;

    Expired(Duration limit) {
      super("timed out after " + Durations.print(limit));
      this.limit = limit;
    }
  }

  static AgentException translate(String doing, IOException e) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException(doing + " was interrupted");
    }
    return switch (e) {
      case Expired expired -> new AgentException.Timeout(doing, expired.limit);
      case AsynchronousCloseException _ -> new AgentException.Network(doing + ": closed", e);
      default -> new AgentException.Network(doing + ": " + reason(e), e);
    };
  }

  private static String reason(IOException e) {
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }
}

package dev.zlayer.daemon;

import dev.zlayer.host.linux.PacketSocket;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Tells the service manager how we stand, if one started us. */
final class Notify {
  private Notify() {}

  /** The start goes on and may take that much longer from now on. */
  static void starting(Map<String, String> env, Duration more) {
    tell(env, "EXTEND_TIMEOUT_USEC=" + TimeUnit.NANOSECONDS.toMicros(more.toNanos()));
  }

  static void ready(Map<String, String> env) {
    tell(env, "READY=1\nMAINPID=" + ProcessHandle.current().pid());
  }

  static void stopping(Map<String, String> env) {
    tell(env, "STOPPING=1");
  }

  static void alive(Map<String, String> env) {
    tell(env, "WATCHDOG=1");
  }

  private static void tell(Map<String, String> env, String state) {
    String socket = env.get("NOTIFY_SOCKET");
    if (socket != null && !socket.isEmpty()) {
      try {
        PacketSocket.send(socket, state);
      } catch (IOException _) {
        // a manager that does not listen waits until its own patience ends; we serve anyway
      }
    }
  }
}

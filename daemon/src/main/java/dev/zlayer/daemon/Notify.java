package dev.zlayer.daemon;

import dev.zlayer.host.linux.PacketSocket;
import java.io.IOException;
import java.util.Map;

/** Tells the service manager how we stand, if one started us. */
final class Notify {
  private Notify() {}

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

package dev.zlayer.host.http;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;

/**
 * Gets ready what the first socket of a process needs, beside other work: it takes a short command
 * as long as all that it does itself until then. Nobody waits for it who does not need a socket;
 * what only its end needs comes last, while the peer makes its answer.
 */
public final class SocketWarmup {
  /**
   * A large class that the first socket of Java needs, since names of sockets are drawn by lot. It
   * can be made ready on its own; where there is no such class, nothing is gained.
   */
  private static final String APART = "sun.security.util.KnownOIDs";

  private SocketWarmup() {}

  public static void begin() {
    Thread _ = Thread.ofPlatform().daemon().name("socket-warmup").start(SocketWarmup::run);
    Thread _ = Thread.ofPlatform().daemon().name("socket-warmup-2").start(SocketWarmup::runApart);
  }

  private static void runApart() {
    try {
      Class<?> _ = Class.forName(APART, true, ClassLoader.getPlatformClassLoader());
    } catch (ClassNotFoundException | LinkageError _) {
      // another Java
    }
  }

  private static void run() {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // loads what closing a connected one needs
      int _ = channel.getOption(StandardSocketOptions.SO_SNDBUF);
    } catch (IOException | UnsupportedOperationException _) {
      // whoever needs one says what is wrong
    }
  }
}

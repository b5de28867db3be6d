package dev.zlayer.proxy;

import dev.zlayer.spec.value.Transport;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.Map;

/**
 * Keeps other programs from ports that the kernel leads elsewhere: a socket that is bound and
 * listens to nothing. So a door without members refuses at once. Guarded by its owner.
 */
final class HeldPorts implements AutoCloseable {
  static final InetAddress ANY = InetAddress.ofLiteral("0.0.0.0");
  static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

  private final Map<Door.Key, Closeable> held = new HashMap<>();

  /** False when another program has the port. */
  boolean hold(Door.Key key) {
    if (held.containsKey(key)) {
      return true;
    }
    try {
      held.put(key, bind(key));
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  void release(Door.Key key) {
    Closeable socket = held.remove(key);
    if (socket != null) {
      close(socket);
    }
  }

  @Override
  public void close() {
    held.values().forEach(HeldPorts::close);
    held.clear();
  }

  static InetSocketAddress address(Door.Key key) {
    return new InetSocketAddress(key.loopback() ? LOOPBACK : ANY, key.port());
  }

  private static Closeable bind(Door.Key key) throws IOException {
    NetworkChannel channel =
        key.transport() == Transport.UDP
            ? DatagramChannel.open(StandardProtocolFamily.INET)
            : SocketChannel.open(StandardProtocolFamily.INET);
    try {
      return channel.bind(address(key));
    } catch (IOException e) {
      close(channel);
      if (key.transport() == Transport.UDP) {
        throw e;
      }
      return lingering(key);
    }
  }

  /** Ended connections of a program that is gone block a plain bind for a minute, nobody else. */
  private static Closeable lingering(Door.Key key) throws IOException {
    try (var channel = ServerSocketChannel.open(StandardProtocolFamily.INET)) {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(address(key), 1);
      return () -> {};
    }
  }

  private static void close(Closeable socket) {
    try {
      socket.close();
    } catch (IOException _) {
      // nothing is left to be done with it
    }
  }
}

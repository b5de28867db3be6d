package dev.zlayer.proxy;

import dev.zlayer.host.net.LocalRelays;
import dev.zlayer.host.net.OutsidePorts;
import dev.zlayer.host.net.PortRelay;
import dev.zlayer.spec.value.Transport;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps other programs from binding ports that the kernel forwards: a socket that is bound and does
 * not listen. So an endpoint without members refuses at once. Each key has one user at a time.
 */
final class PortReservations implements AutoCloseable {
  static final InetAddress ANY = InetAddress.ofLiteral("0.0.0.0");
  static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

  private final String bridges;
  private final Map<Endpoint.Key, OutsidePorts.Held> reserved = new ConcurrentHashMap<>();

  /** What was sent to ::1 or on a link, which the kernel forwards nowhere, is copied. */
  private final Map<Endpoint.Key, PortRelay> relays = new ConcurrentHashMap<>();

  /**
   * @param bridges begins the names of our own interfaces
   */
  PortReservations(String bridges) {
    this.bridges = bridges;
  }

  /** False when another program has the port. */
  boolean reserve(Endpoint endpoint) {
    return reserve(endpoint.key()) && relay(endpoint);
  }

  private boolean relay(Endpoint endpoint) {
    Endpoint.Key key = endpoint.key();
    List<InetAddress> members = endpoint.members(true);
    boolean unused = members.isEmpty() && !relays.containsKey(key);
    if (key.loopback() || unused) {
      return true;
    }
    try {
      PortRelay relay = relays.get(key);
      if (relay == null) {
        relay = LocalRelays.all(endpoint.datagrams(), key.port(), endpoint.targetPort(), bridges);
        relays.put(key, relay);
      }
      relay.members(members);
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  /** Whether a member has connections that are copied. */
  boolean connected(InetAddress member) {
    return relays.values().stream().anyMatch(relay -> relay.connections(member) > 0);
  }

  private boolean reserve(Endpoint.Key key) {
    if (reserved.containsKey(key)) {
      return true;
    }
    try {
      reserved.put(key, bind(key));
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  void release(Endpoint.Key key) {
    PortRelay relay = relays.remove(key);
    if (relay != null) {
      close(relay);
    }
    OutsidePorts.Held socket = reserved.remove(key);
    if (socket != null) {
      release(socket);
    }
  }

  @Override
  public void close() {
    relays.values().forEach(relay -> close(relay));
    relays.clear();
    reserved.values().forEach(socket -> close(socket));
    reserved.clear();
  }

  static InetSocketAddress address(Endpoint.Key key) {
    return new InetSocketAddress(key.loopback() ? LOOPBACK : ANY, key.port());
  }

  private static OutsidePorts.Held bind(Endpoint.Key key) throws IOException {
    try {
      return OutsidePorts.bind(
          key.transport() == Transport.UDP, StandardProtocolFamily.INET, address(key));
    } catch (IOException e) {
      if (key.transport() == Transport.UDP) {
        throw e;
      }
      return lingering(key);
    }
  }

  /** Closed connections of a program that exited block a plain bind for a minute, nobody else. */
  private static OutsidePorts.Held lingering(Endpoint.Key key) throws IOException {
    try (var channel = ServerSocketChannel.open(StandardProtocolFamily.INET)) {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(address(key), 1);
      return () -> {};
    }
  }

  private static void close(PortRelay relay) {
    try {
      relay.close();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private static void release(OutsidePorts.Held socket) {
    try {
      socket.release();
    } catch (IOException _) {
      // whoever needs the port next gets the error
    }
  }

  private static void close(Closeable socket) {
    try {
      socket.close();
    } catch (IOException _) {
      // the port is free either way
    }
  }
}

package dev.zlayer.proxy;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.spec.value.Transport;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.List;
import java.util.Locale;

/**
 * A port of this host that forwards to the ready members of a service.
 *
 * @param targetPort in each member
 * @param members the addresses of those that get new connections, of both kinds
 */
record Endpoint(
    Key key,
    ServiceKey service,
    String name,
    int targetPort,
    Forwarding forwarding,
    List<InetAddress> members) {
  Endpoint {
    members = List.copyOf(members);
  }

  /** A port of one transport; it has at most one service. */
  record Port(Transport transport, int number) {}

  /** Where it listens; no two endpoints share one. */
  record Key(Transport transport, boolean loopback, int port) {
    Port number() {
      return new Port(transport, port);
    }

    /** For the names of chains. */
    String text() {
      return "%s_%s_%d".formatted(protocol(), loopback ? "loopback" : "any", port);
    }

    String protocol() {
      return transport.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String toString() {
      return "%s:%d/%s".formatted(loopback ? "127.0.0.1" : "0.0.0.0", port, protocol());
    }
  }

  /** One address for each member; connections over IPv6 go to the IPv6 ones. */
  List<InetAddress> members(boolean ipv6) {
    return members.stream().filter(one -> one instanceof Inet6Address == ipv6).toList();
  }

  /** Whether a rule of the kernel forwards it. */
  boolean ruled() {
    return forwarding == Forwarding.KERNEL || forwarding == Forwarding.REDIRECT;
  }

  boolean datagrams() {
    return key.transport() == Transport.UDP;
  }

  /** How connections reach the members. */
  enum Forwarding {
    /** The kernel rewrites their addresses. */
    KERNEL,
    /** The agent accepts and copies them. */
    RELAY,
    /** The member uses the network of the host and another port. */
    REDIRECT,
    /** The member listens on this very port of the host. */
    DIRECT
  }
}

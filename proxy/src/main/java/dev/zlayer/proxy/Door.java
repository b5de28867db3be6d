package dev.zlayer.proxy;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.List;
import java.util.Locale;

/**
 * A port of the machine that leads to the ready members of a service.
 *
 * @param targetPort in each member
 * @param members those that get new connections
 */
record Door(
    Key key,
    ServiceKey service,
    String endpoint,
    int targetPort,
    Way way,
    List<InetAddress> members) {
  Door {
    members = List.copyOf(members);
  }

  /** Where it is; no two doors share one. */
  record Key(Transport transport, boolean loopback, int port) {
    /** Whether nobody can have both. */
    boolean collides(Key other) {
      return transport == other.transport && port == other.port;
    }

    /** For the names of chains. */
    String text() {
      return "%s_%s_%d"
          .formatted(
              transport.name().toLowerCase(Locale.ROOT), loopback ? "loopback" : "any", port);
    }

    @Override
    public String toString() {
      return "%s:%d/%s"
          .formatted(
              loopback ? "127.0.0.1" : "0.0.0.0", port, transport.name().toLowerCase(Locale.ROOT));
    }
  }

  /** How connections get to the members. */
  enum Way {
    /** The kernel rewrites their addresses. */
    KERNEL,
    /** The agent takes and copies them. */
    RELAY,
    /** The member uses the machine's own network and another port. */
    REDIRECT,
    /** The member listens on this very port of the machine. */
    DIRECT
  }
}

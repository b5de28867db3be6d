package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.IpText;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.PortOwner;
import dev.zlayer.host.net.LocalRelays;
import dev.zlayer.host.net.OutsidePorts;
import dev.zlayer.host.net.PortRelay;
import dev.zlayer.task.Rollback;
import java.io.Closeable;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which container has which port of the host. Published packets never reach a socket, so a port is
 * kept from other programs by one that is bound to it and nothing else, as long as the agent lives.
 */
final class HostPorts implements AutoCloseable {
  static final InetAddress ANY = InetAddress.ofLiteral("0.0.0.0");
  static final InetAddress ANY_IPV6 = InetAddress.ofLiteral("::");

  private static final int EPHEMERAL_ATTEMPTS = 64;

  private record Key(Protocol protocol, int port) {}

  /**
   * One address of a port.
   *
   * @param socket keeps others from it; it relays what the kernel cannot forward
   */
  private record Holding(String owner, InetAddress ip, Closeable socket) {}

  /** What the kernel forwards nowhere is copied by the agent. */
  private record Relayed(PortRelay relay) implements Closeable {
    @Override
    public void close() {
      try {
        relay.close();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Whether containers get IPv6 addresses; asked only when there are ports. */
  @FunctionalInterface
  interface Ipv6Question {
    boolean answer() throws InterruptedException;
  }

  private final String bridges;
  private final Map<Key, List<Holding>> holdings = new ConcurrentHashMap<>();

  /**
   * @param bridges begins the names of our own interfaces
   */
  HostPorts(String bridges) {
    this.bridges = bridges;
  }

  /** All of them, or none and an error that tells who has the port. */
  List<PortBinding> reserve(String owner, List<Port> ports, Ipv6Question question)
      throws InterruptedException {
    var bindings = new ArrayList<PortBinding>();
    boolean ipv6 = !ports.isEmpty() && question.answer();
    try (var rollback = new Rollback()) {
      rollback.add("free the ports of " + owner, () -> release(owner));
      for (Port port : ports) {
        bindings.addAll(reserve(owner, port, ipv6));
      }
      rollback.commit();
    }
    return List.copyOf(bindings);
  }

  /** Takes what an earlier agent published; another program may have bound it since. */
  void adopt(String owner, List<PortBinding> bindings) {
    for (PortBinding binding : bindings) {
      var key = new Key(binding.protocol(), binding.hostPort());
      Closeable socket =
          bind(binding.protocol(), binding.hostIp(), binding.hostPort(), binding.containerPort())
              .orElse(() -> {});
      add(key, new Holding(owner, binding.hostIp(), socket));
    }
  }

  /** From now on what is relayed goes to the IPv6 address of the container, if it has one. */
  void relay(String owner, List<InetAddress> to) {
    List<InetAddress> members = to.stream().filter(Inet6Address.class::isInstance).toList();
    holdings.values().stream()
        .flatMap(List::stream)
        .filter(holding -> holding.owner().equals(owner))
        .forEach(
            holding -> {
              if (holding.socket() instanceof Relayed(PortRelay relay)) {
                relay.members(members);
              }
            });
  }

  void release(String owner) {
    for (Key key : holdings.keySet()) {
      release(owner, key);
    }
  }

  private void release(String owner, Key port) {
    holdings.computeIfPresent(
        port,
        (_, all) -> {
          var kept = new ArrayList<Holding>();
          for (Holding holding : all) {
            if (holding.owner().equals(owner)) {
              free(holding.socket());
            } else {
              kept.add(holding);
            }
          }
          return kept.isEmpty() ? null : List.copyOf(kept);
        });
  }

  /** Who has published it; {@code protocol} is tcp or udp. */
  Optional<String> holder(String protocol, int port) {
    var key = new Key(Protocol.valueOf(protocol.toUpperCase(Locale.ROOT)), port);
    return holdings.getOrDefault(key, List.of()).stream().map(Holding::owner).findFirst();
  }

  @Override
  public void close() {
    holdings.values().forEach(all -> all.forEach(holding -> close(holding.socket())));
    holdings.clear();
  }

  /** Without an address on all of them, of both kinds where the container has both. */
  private List<PortBinding> reserve(String owner, Port port, boolean ipv6) {
    InetAddress ip = port.hostIp().orElse(ANY);
    if (ip instanceof Inet6Address && !ipv6) {
      throw new AgentException.Unsupported(
          "publishing on %s: the container's network has no IPv6 addresses; create one with 'zlayer network create --ipv6 NAME'"
              .formatted(IpText.of(ip)));
    }
    boolean chosen = port.hostPort().orElse(0) != 0;
    for (int attempt = 0; attempt < EPHEMERAL_ATTEMPTS; attempt++) {
      int number = chosen ? port.hostPort().getAsInt() : free(port.protocol(), ip);
      try {
        var bindings = new ArrayList<PortBinding>();
        bindings.add(fixed(owner, port, ip, number));
        if (port.hostIp().isEmpty() && ipv6) {
          bindings.add(fixed(owner, port, ANY_IPV6, number));
        }
        return bindings;
      } catch (AgentException.Network e) {
        if (chosen) {
          throw e;
        }
        release(owner, new Key(port.protocol(), number)); // taken meanwhile, or its IPv6 half is
      }
    }
    throw new AgentException.Network(
        "no free port of %s was found for '%s'".formatted(IpText.of(ip), owner));
  }

  private static int free(Protocol protocol, InetAddress ip) {
    try (NetworkChannel socket =
        protocol == Protocol.UDP
            ? DatagramChannel.open(family(ip))
            : SocketChannel.open(family(ip))) {
      socket.bind(new InetSocketAddress(ip, 0));
      return ((InetSocketAddress) socket.getLocalAddress()).getPort();
    } catch (IOException _) {
      throw inUse(new Key(protocol, 0), ip);
    }
  }

  private PortBinding fixed(String owner, Port port, InetAddress ip, int number) {
    Protocol protocol = port.protocol();
    var key = new Key(protocol, number);
    holdings.compute(
        key,
        (_, all) -> {
          holder(all, ip)
              .ifPresent(
                  holder -> {
                    throw failure(key, ip, true, "already published by '" + holder + "'");
                  });
          Closeable socket =
              bind(protocol, ip, number, port.containerPort())
                  .or(() -> lingering(protocol, ip, number))
                  .orElseThrow(() -> inUse(key, ip));
          return with(all, new Holding(owner, ip, socket));
        });
    return new PortBinding(ip, number, port.containerPort(), protocol);
  }

  private void add(Key key, Holding holding) {
    holdings.compute(key, (_, all) -> with(all, holding));
  }

  private static List<Holding> with(
      @org.jspecify.annotations.Nullable List<Holding> all, Holding one) {
    var result = new ArrayList<Holding>(all == null ? List.of() : all);
    result.add(one);
    return List.copyOf(result);
  }

  private static Optional<String> holder(
      @org.jspecify.annotations.Nullable List<Holding> all, InetAddress ip) {
    return all == null
        ? Optional.empty()
        : all.stream()
            .filter(
                holding ->
                    holding.ip().getClass() == ip.getClass()
                        && (holding.ip().equals(ip)
                            || holding.ip().isAnyLocalAddress()
                            || ip.isAnyLocalAddress()))
            .map(Holding::owner)
            .findFirst();
  }

  /**
   * A socket that keeps others from an address. All IPv6 addresses are kept by ::1 and those of
   * links: a socket of ours on all of them would take those of IPv4, too.
   */
  private Optional<Closeable> bind(
      Protocol protocol, InetAddress ip, int number, int containerPort) {
    boolean datagrams = protocol == Protocol.UDP;
    try {
      if (ip instanceof Inet6Address && ip.isAnyLocalAddress()) {
        return Optional.of(new Relayed(LocalRelays.all(datagrams, number, containerPort, bridges)));
      }
      if (ip instanceof Inet6Address && ip.isLoopbackAddress()) {
        return Optional.of(new Relayed(LocalRelays.loopback(datagrams, number, containerPort)));
      }
      return Optional.of(
          OutsidePorts.bind(datagrams, family(ip), new InetSocketAddress(ip, number)));
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  private static StandardProtocolFamily family(InetAddress ip) {
    return ip instanceof Inet6Address ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET;
  }

  /** Ended connections of a program that is gone block a plain bind for a minute, nobody else. */
  private static Optional<Closeable> lingering(Protocol protocol, InetAddress ip, int number) {
    if (protocol == Protocol.UDP || (ip instanceof Inet6Address && ip.isAnyLocalAddress())) {
      return Optional.empty();
    }
    try (var channel = ServerSocketChannel.open(family(ip))) {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(new InetSocketAddress(ip, number), 1);
      return Optional.of(() -> {});
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  private static AgentException inUse(Key key, InetAddress ip) {
    String reason =
        PortOwner.find(key.protocol().name().toLowerCase(Locale.ROOT), key.port())
            .map(
                owner ->
                    owner.pid() == ProcessHandle.current().pid() || OutsidePorts.keeps(owner.pid())
                        ? "already in use by an endpoint of a deployment; choose another host port"
                        : "already in use by %s; choose another host port".formatted(owner))
            .orElseGet(
                () ->
                    "in use by another program of this host, or %s is not an address of this host"
                        .formatted(IpText.of(ip)));
    return failure(key, ip, false, reason);
  }

  private static AgentException failure(Key key, InetAddress ip, boolean published, String reason) {
    return new AgentException.Network(
        "port %d/%s is %s"
            .formatted(key.port(), key.protocol().name().toLowerCase(Locale.ROOT), reason),
        new PortTaken(ip, key.port(), key.protocol(), published));
  }

  private static void free(Closeable socket) {
    try {
      if (socket instanceof OutsidePorts.Held held) {
        held.release();
      } else {
        socket.close();
      }
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

package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec.Port;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.PortOwner;
import dev.zlayer.task.Rollback;
import java.io.Closeable;
import java.io.IOException;
import java.net.Inet4Address;
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

  private static final int EPHEMERAL_ATTEMPTS = 64;

  private record Key(Protocol protocol, int port) {}

  private record Holding(String owner, InetAddress ip, Closeable socket) {}

  private final Map<Key, List<Holding>> holdings = new ConcurrentHashMap<>();

  /** All of them, or none and an error that tells who has the port. */
  List<PortBinding> reserve(String owner, List<Port> ports) {
    var bindings = new ArrayList<PortBinding>();
    try (var rollback = new Rollback()) {
      rollback.add("free the ports of " + owner, () -> release(owner));
      for (Port port : ports) {
        bindings.add(reserve(owner, port));
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
          bind(binding.protocol(), binding.hostIp(), binding.hostPort())
              .<Closeable>map(channel -> channel)
              .orElse(() -> {});
      add(key, new Holding(owner, binding.hostIp(), socket));
    }
  }

  void release(String owner) {
    for (Key key : holdings.keySet()) {
      holdings.computeIfPresent(
          key,
          (_, all) -> {
            var kept = new ArrayList<Holding>();
            for (Holding holding : all) {
              if (holding.owner().equals(owner)) {
                close(holding.socket());
              } else {
                kept.add(holding);
              }
            }
            return kept.isEmpty() ? null : List.copyOf(kept);
          });
    }
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

  private PortBinding reserve(String owner, Port port) {
    InetAddress ip = port.hostIp().orElse(ANY);
    if (!(ip instanceof Inet4Address)) {
      throw new AgentException.Unsupported(
          "publishing on %s: containers have IPv4 addresses only".formatted(ip.getHostAddress()));
    }
    int number =
        port.hostPort().orElse(0) == 0
            ? ephemeral(owner, port.protocol(), ip)
            : fixed(owner, port.protocol(), ip, port.hostPort().getAsInt());
    return new PortBinding(ip, number, port.containerPort(), port.protocol());
  }

  private int fixed(String owner, Protocol protocol, InetAddress ip, int number) {
    var key = new Key(protocol, number);
    holdings.compute(
        key,
        (_, all) -> {
          holder(all, ip).ifPresent(holder -> refuse(key, "already published by '" + holder + "'"));
          Closeable socket =
              bind(protocol, ip, number)
                  .<Closeable>map(channel -> channel)
                  .or(() -> lingering(protocol, ip, number))
                  .orElseThrow(() -> inUse(key, ip));
          return with(all, new Holding(owner, ip, socket));
        });
    return number;
  }

  private int ephemeral(String owner, Protocol protocol, InetAddress ip) {
    for (int attempt = 0; attempt < EPHEMERAL_ATTEMPTS; attempt++) {
      NetworkChannel socket =
          bind(protocol, ip, 0).orElseThrow(() -> inUse(new Key(protocol, 0), ip));
      int number = number(socket);
      var holding = new Holding(owner, ip, socket);
      List<Holding> after =
          holdings.compute(
              new Key(protocol, number),
              (_, all) -> holder(all, ip).isPresent() ? all : with(all, holding));
      if (after != null && after.contains(holding)) {
        return number;
      }
      close(socket);
    }
    throw new AgentException.Network(
        "no free port of %s was found for '%s'".formatted(ip.getHostAddress(), owner));
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
                    holding.ip().equals(ip)
                        || holding.ip().isAnyLocalAddress()
                        || ip.isAnyLocalAddress())
            .map(Holding::owner)
            .findFirst();
  }

  private static Optional<NetworkChannel> bind(Protocol protocol, InetAddress ip, int number) {
    NetworkChannel channel = null;
    try {
      channel =
          switch (protocol) {
            case TCP -> SocketChannel.open(StandardProtocolFamily.INET);
            case UDP -> DatagramChannel.open(StandardProtocolFamily.INET);
          };
      return Optional.of(channel.bind(new InetSocketAddress(ip, number)));
    } catch (IOException _) {
      if (channel != null) {
        close(channel);
      }
      return Optional.empty();
    }
  }

  /** Ended connections of a program that is gone block a plain bind for a minute, nobody else. */
  private static Optional<Closeable> lingering(Protocol protocol, InetAddress ip, int number) {
    if (protocol == Protocol.UDP) {
      return Optional.empty();
    }
    try (var channel = ServerSocketChannel.open(StandardProtocolFamily.INET)) {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(new InetSocketAddress(ip, number), 1);
      return Optional.of(() -> {});
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  private static int number(NetworkChannel socket) {
    try {
      return ((InetSocketAddress) socket.getLocalAddress()).getPort();
    } catch (IOException e) {
      throw new AgentException.Internal("a bound socket has an address", e);
    }
  }

  private static AgentException inUse(Key key, InetAddress ip) {
    String reason =
        PortOwner.find(key.protocol().name().toLowerCase(Locale.ROOT), key.port())
            .map(
                owner ->
                    owner.pid() == ProcessHandle.current().pid()
                        ? "already in use by an endpoint of a deployment; choose another host port"
                        : "already in use by %s; choose another host port".formatted(owner))
            .orElseGet(
                () ->
                    "in use by another program of this host, or %s is not an address of this host"
                        .formatted(ip.getHostAddress()));
    return failure(key, reason);
  }

  private static void refuse(Key key, String reason) {
    throw failure(key, reason);
  }

  private static AgentException failure(Key key, String reason) {
    return new AgentException.Network(
        "port %d/%s is %s"
            .formatted(key.port(), key.protocol().name().toLowerCase(Locale.ROOT), reason));
  }

  private static void close(Closeable socket) {
    try {
      socket.close();
    } catch (IOException _) {
      // the port is free either way
    }
  }
}

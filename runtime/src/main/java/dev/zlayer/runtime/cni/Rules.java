package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.net.ConntrackFlush;
import dev.zlayer.host.net.RuleCount;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The nftables table of this agent: masquerading, published ports and the wall between networks.
 * From outside, only what was published reaches a container; a route to its address is not enough.
 * On a bridge, a container has its own addresses and no other ones.
 *
 * <p>It knows all that should be in the table. A change is one small transaction; when the kernel
 * refuses it, for instance because somebody flushed the rule set, the whole table is written anew
 * in one transaction. So the table can lack or leak nothing for longer than one change.
 */
final class Rules {
  /** It begins anew whenever somebody else changes a rule meanwhile. */
  static final Duration NFT_LIMIT = Duration.ofSeconds(30);

  private final String nft;
  private final String table;
  private final NetworkTables tables;
  private final Forwarding forwarding;
  private final boolean hostHasIpv6 = Files.exists(Path.of("/proc/sys/net/ipv6"));
  private final KeyedLock<String> lock = new KeyedLock<>();
  private List<NamedNetwork> networks = List.of();
  private Map<PortBinding, InetAddress> published = Map.of();
  private final Map<String, Station> stations = new HashMap<>();
  private final Map<String, Station> released = new HashMap<>();
  private volatile Optional<String> unguarded = Optional.empty();

  Rules(NetworkConfig config, Forwarding forwarding) {
    this.forwarding = forwarding;
    this.nft = config.nft();
    this.table = config.prefix();
    this.tables = new NetworkTables(table);
  }

  /**
   * Writes the whole table for these networks and ports, whatever was in it.
   *
   * @param connected the containers there are, by the ports of bridges that they are connected to
   */
  void replace(
      List<NamedNetwork> networks,
      Map<PortBinding, InetAddress> ports,
      Map<String, Station> connected)
      throws InterruptedException {
    try (var _ = lock.lock(table)) {
      stations.clear();
      stations.putAll(connected);
      rewrite(networks, ports);
      this.networks = List.copyOf(networks);
      this.published = Map.copyOf(ports);
    }
  }

  /** Makes sure that exactly these networks, asked for under our lock, are in the table. */
  void include(Supplier<List<NamedNetwork>> wanted) throws InterruptedException {
    try (var _ = lock.lock(table)) {
      List<NamedNetwork> all = wanted.get();
      if (!all.equals(networks)) {
        rewrite(all, published);
        this.networks = List.copyOf(all);
      }
    }
  }

  /** Each port is forwarded to the address of its own kind; without one it stays closed. */
  void publish(Collection<PortBinding> ports, List<InetAddress> to) throws InterruptedException {
    Map<PortBinding, InetAddress> added = targets(ports, to);
    if (added.isEmpty()) {
      return;
    }
    try (var _ = lock.lock(table)) {
      var wanted = new HashMap<>(published);
      wanted.putAll(added);
      change("add", added, wanted);
    }
    // whoever kept sending while the port had no container, or another one, gets a new entry
    for (PortBinding port : added.keySet()) {
      if (port.protocol() == Protocol.UDP) {
        ConntrackFlush.datagrams(address(port), port.hostPort(), Set.copyOf(added.values()));
      }
    }
  }

  /** What ports are forwarded to; ::1 is not, since the kernel forwards nothing from there. */
  static Map<PortBinding, InetAddress> targets(
      Collection<PortBinding> ports, List<InetAddress> to) {
    var targets = new HashMap<PortBinding, InetAddress>();
    for (PortBinding port : ports) {
      boolean ipv6 = port.hostIp() instanceof Inet6Address;
      to.stream()
          .filter(address -> address instanceof Inet6Address == ipv6)
          .filter(_ -> !ipv6 || !port.hostIp().isLoopbackAddress())
          .findFirst()
          .ifPresent(address -> targets.put(port, address));
    }
    return targets;
  }

  /** Does nothing for ports that are not published. */
  void unpublish(Collection<PortBinding> ports) throws InterruptedException {
    if (ports.isEmpty()) {
      return;
    }
    var removed = new HashMap<PortBinding, InetAddress>();
    try (var _ = lock.lock(table)) {
      removed.putAll(published);
      removed.keySet().retainAll(Set.copyOf(ports));
      var wanted = new HashMap<>(published);
      wanted.keySet().removeAll(removed.keySet());
      change("delete", removed, wanted);
    }
    ConntrackFlush.servers(Set.copyOf(removed.values()));
  }

  /** From now on whoever is connected to one of these ports of bridges has its addresses alone. */
  void bind(Map<String, Station> ports) throws InterruptedException {
    try (var _ = lock.lock(table)) {
      stations.putAll(ports);
      if (unguarded.isEmpty()
          && !run(tables.stations("delete", released) + tables.stations("add", ports)).success()) {
        guard(networks);
      }
      released.clear();
    }
  }

  /** The port does not exist any more; its entries are deleted with the next change. */
  void unbind(String port) throws InterruptedException {
    try (var _ = lock.lock(table)) {
      Station station = stations.remove(port);
      if (station != null) {
        released.put(port, station);
      }
    }
  }

  /** Writes everything anew when somebody removed some of it; true when that was so. */
  boolean restore() throws InterruptedException {
    try (var _ = lock.lock(table)) {
      String wanted =
          tables.routed(networks, hostHasIpv6, forwarding.outside())
              + (unguarded.isEmpty() ? tables.bridged(networks) : "");
      if (RuleCount.of(wanted).present(nft, Deadline.after(NFT_LIMIT))) {
        return false;
      }
      rewrite(networks, published);
      return true;
    }
  }

  private void change(
      String verb, Map<PortBinding, InetAddress> changed, Map<PortBinding, InetAddress> wanted)
      throws InterruptedException {
    if (!changed.isEmpty() && !run(tables.ports(verb, changed)).success()) {
      rewrite(networks, wanted);
    }
    published = Map.copyOf(wanted);
  }

  private void rewrite(List<NamedNetwork> networks, Map<PortBinding, InetAddress> ports)
      throws InterruptedException {
    forwarding.prepare(networks);
    CommandResult result =
        run(
            tables.routed(networks, hostHasIpv6, forwarding.outside())
                + tables.ports("add", ports));
    if (!result.success()) {
      throw new AgentException.Network(
          "nft exited with %d while writing table %s: %s"
              .formatted(result.code(), table, firstLine(result)));
    }
    forwarding.enable(networks);
    guard(networks);
  }

  private void guard(List<NamedNetwork> networks) throws InterruptedException {
    CommandResult guarded = run(tables.bridged(networks) + tables.stations("add", stations));
    released.clear();
    unguarded = guarded.success() ? Optional.empty() : Optional.of(firstLine(guarded));
  }

  /** Why containers may answer for other addresses of their network, if they may. */
  Optional<String> unguarded() {
    return unguarded;
  }

  /** nft marks the place of an error in the lines that follow the one that tells it. */
  private static String firstLine(CommandResult result) {
    return result.stderr().lines().findFirst().orElseGet(result::lastLine);
  }

  private CommandResult run(String script) throws InterruptedException {
    try {
      return Processes.run(
          Command.of(nft, "-f", "-").withInput(script.getBytes(StandardCharsets.UTF_8)),
          Deadline.after(NFT_LIMIT));
    } catch (AgentException.Configuration e) {
      throw new AgentException.Configuration(
          "cannot run %s, which publishes ports: install nftables".formatted(nft), e.getCause());
    }
  }

  private static Optional<InetAddress> address(PortBinding port) {
    return Optional.of(port.hostIp()).filter(ip -> !ip.isAnyLocalAddress());
  }
}

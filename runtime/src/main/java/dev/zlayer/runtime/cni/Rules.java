package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.net.ConntrackFlush;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

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
  private final String nft;
  private final String table;
  private final Duration timeout;
  private final KeyedLock<String> lock = new KeyedLock<>();
  private List<NamedNetwork> networks = List.of();
  private Map<PortBinding, InetAddress> published = Map.of();
  private final Map<String, Station> stations = new HashMap<>();
  private final Map<String, Station> released = new HashMap<>();
  private volatile Optional<String> unguarded = Optional.empty();

  Rules(NetworkConfig config) {
    this.nft = config.nft();
    this.table = config.prefix();
    this.timeout = config.pluginTimeout();
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

  void publish(Collection<PortBinding> ports, InetAddress to) throws InterruptedException {
    if (ports.isEmpty()) {
      return;
    }
    try (var _ = lock.lock(table)) {
      var added = new HashMap<PortBinding, InetAddress>();
      ports.forEach(port -> added.put(port, to));
      var wanted = new HashMap<>(published);
      wanted.putAll(added);
      change("add", added, wanted);
    }
    // whoever kept sending while the port had no container, or another one, gets a new entry
    for (PortBinding port : ports) {
      if (port.protocol() == Protocol.UDP) {
        ConntrackFlush.datagrams(address(port), port.hostPort(), Set.of(to));
      }
    }
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

  /** From now on whoever is connected to this port of a bridge has these addresses alone. */
  void bind(String port, Station station) throws InterruptedException {
    try (var _ = lock.lock(table)) {
      stations.put(port, station);
      if (unguarded.isEmpty()
          && !run(stations("delete", released) + stations("add", Map.of(port, station)))
              .success()) {
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

  private String stations(String verb, Map<String, Station> changed) {
    var lines = new StringBuilder();
    changed.forEach(
        (port, station) -> {
          String name = quoted(port);
          Map.of(
                  "ports", name,
                  "macs", name + " . " + station.mac(),
                  "owners", name + " . " + station.address().getHostAddress(),
                  "locals", name + " . " + station.linkLocal().getHostAddress(),
                  "targets", name + " . 0x" + station.linkLocalDigits())
              .forEach(
                  (set, element) ->
                      lines.append(
                          "%s element bridge %s %s { %s }\n".formatted(verb, table, set, element)));
        });
    return lines.toString();
  }

  private void change(
      String verb, Map<PortBinding, InetAddress> changed, Map<PortBinding, InetAddress> wanted)
      throws InterruptedException {
    if (!changed.isEmpty() && !run(elements(verb, changed)).success()) {
      rewrite(networks, wanted);
    }
    published = Map.copyOf(wanted);
  }

  private void rewrite(List<NamedNetwork> networks, Map<PortBinding, InetAddress> ports)
      throws InterruptedException {
    CommandResult result = run(script(networks) + elements("add", ports));
    if (!result.success()) {
      throw new AgentException.Network(
          "nft exited with %d while writing table %s: %s"
              .formatted(result.code(), table, firstLine(result)));
    }
    guard(networks);
  }

  private void guard(List<NamedNetwork> networks) throws InterruptedException {
    CommandResult guarded = run(bridges(networks) + stations("add", stations));
    released.clear();
    unguarded = guarded.success() ? Optional.empty() : Optional.of(firstLine(guarded));
  }

  /** Why containers may answer for other addresses of their network, if they may. */
  Optional<String> unguarded() {
    return unguarded;
  }

  /**
   * Nobody on a bridge may say that the address of this host or of another container were its own,
   * by ARP, neighbour discovery or by what it sends, or be a router of the others. Nor may it use
   * another's MAC address, which would draw the other's frames to its port. Frames of other kinds
   * are dropped: a tag for VLAN 0 would hide what is in them from these rules and from nobody else.
   */
  private String bridges(List<NamedNetwork> networks) {
    return """
    table bridge %1$s
    delete table bridge %1$s
    table bridge %1$s {
      set gateways { type ipv4_addr; %2$s }
      set subnets { type ipv4_addr; flags interval; %3$s }
      set ports { type ifname; }
      set macs { type ifname . ether_addr; }
      set owners { type ifname . ipv4_addr; }
      set locals { type ifname . ipv6_addr; }
      set targets { typeof iifname . @th,64,128; }
      chain ports {
        type filter hook prerouting priority -300; policy accept;
        arp saddr ip @gateways drop
        iifname != @ports accept
        ether type != { arp, ip, ip6 } drop
        iifname . ether saddr != @macs drop
        arp saddr ip @subnets iifname . arp saddr ip != @owners drop
        ip saddr @subnets iifname . ip saddr != @owners drop
        ip6 saddr != :: iifname . ip6 saddr != @locals drop
        icmpv6 type { nd-router-advert, nd-redirect } drop
        icmpv6 type nd-neighbor-advert iifname . @th,64,128 != @targets drop
        ip6 saddr :: icmpv6 type nd-neighbor-solicit iifname . @th,64,128 != @targets drop
      }
    }
    """
        .formatted(
            table,
            elements(networks, network -> network.gateway().getHostAddress()),
            elements(networks, network -> network.subnet().toString()));
  }

  /** nft marks the place of an error in the lines that follow the one that tells it. */
  private static String firstLine(CommandResult result) {
    return result.stderr().lines().findFirst().orElseGet(result::lastLine);
  }

  private CommandResult run(String script) throws InterruptedException {
    try {
      return Processes.run(
          Command.of(nft, "-f", "-").withInput(script.getBytes(StandardCharsets.UTF_8)),
          Deadline.after(timeout));
    } catch (AgentException.Configuration e) {
      throw new AgentException.Configuration(
          "cannot run %s, which publishes ports: install nftables".formatted(nft), e.getCause());
    }
  }

  private String script(List<NamedNetwork> networks) {
    String bridges = elements(networks, network -> quoted(network.bridge()));
    String pairs =
        elements(networks, network -> quoted(network.bridge()) + " . " + quoted(network.bridge()));
    return """
    table ip %1$s
    delete table ip %1$s
    table ip %1$s {
      set bridges { type ifname; %2$s }
      set within { type ifname . ifname; %3$s }
      set subnets { type ipv4_addr; flags interval; %4$s }
      map tcp_any { type inet_service : ipv4_addr . inet_service; }
      map udp_any { type inet_service : ipv4_addr . inet_service; }
      map tcp_one { type ipv4_addr . inet_service : ipv4_addr . inet_service; }
      map udp_one { type ipv4_addr . inet_service : ipv4_addr . inet_service; }
      chain guard {
        type filter hook prerouting priority raw; policy accept;
        iifname @bridges ip daddr 127.0.0.0/8 drop
      }
      chain publish {
        meta l4proto tcp dnat ip to ip daddr . tcp dport map @tcp_one
        meta l4proto tcp dnat ip to tcp dport map @tcp_any
        meta l4proto udp dnat ip to ip daddr . udp dport map @udp_one
        meta l4proto udp dnat ip to udp dport map @udp_any
      }
      chain prerouting {
        type nat hook prerouting priority dstnat; policy accept;
        iifname != "lo" ip daddr 127.0.0.0/8 return
        fib daddr type local jump publish
      }
      chain output {
        type nat hook output priority -100; policy accept;
        fib daddr type local jump publish
      }
      chain postrouting {
        type nat hook postrouting priority srcnat; policy accept;
        ct status dnat ip saddr 127.0.0.0/8 masquerade
        ct status dnat ip saddr @subnets ip daddr @subnets masquerade
        ip saddr @subnets ip daddr != @subnets ip daddr != 224.0.0.0/4 masquerade
      }
      chain forward {
        type filter hook forward priority filter; policy accept;
        ct status dnat accept
        ct state established,related accept
        iifname != @bridges oifname @bridges drop
        iifname @bridges oifname @bridges iifname . oifname != @within drop
      }
    }
    """
        .formatted(
            table, bridges, pairs, elements(networks, network -> network.subnet().toString()));
  }

  private String elements(String verb, Map<PortBinding, InetAddress> ports) {
    var lines = new StringBuilder();
    ports.forEach(
        (port, to) ->
            lines.append("%s element ip %s %s\n".formatted(verb, table, element(port, to))));
    return lines.toString();
  }

  private static String element(PortBinding port, InetAddress to) {
    String protocol = port.protocol().name().toLowerCase(Locale.ROOT);
    String target =
        "%d : %s . %d".formatted(port.hostPort(), to.getHostAddress(), port.containerPort());
    return port.hostIp().isAnyLocalAddress()
        ? "%s_any { %s }".formatted(protocol, target)
        : "%s_one { %s . %s }".formatted(protocol, port.hostIp().getHostAddress(), target);
  }

  private static String elements(
      List<NamedNetwork> networks, Function<NamedNetwork, String> element) {
    return networks.isEmpty()
        ? ""
        : networks.stream().map(element).collect(Collectors.joining(", ", "elements = { ", " };"));
  }

  private static Optional<InetAddress> address(PortBinding port) {
    return Optional.of(port.hostIp()).filter(ip -> !ip.isAnyLocalAddress());
  }

  private static String quoted(String name) {
    return '"' + name + '"';
  }
}

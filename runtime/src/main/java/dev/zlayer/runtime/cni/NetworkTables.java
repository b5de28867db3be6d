package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.IpText;
import dev.zlayer.host.linux.IpForwarding;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The text of our nftables tables of one name: {@code ip} and {@code ip6} for what is routed,
 * {@code bridge} for what stays on a bridge. Sets and maps, so that what a packet meets does not
 * depend on their size. Pure.
 */
record NetworkTables(String table) {
  /**
   * Everything that is routed, in place of whatever was there, in one transaction.
   *
   * @param outside interfaces between which nothing is forwarded, see {@link Forwarding}
   */
  String routed(
      List<NamedNetwork> networks, boolean hostHasIpv6, Map<IpForwarding, Set<String>> outside) {
    boolean dual = networks.stream().anyMatch(one -> one.subnetIpv6().isPresent());
    String ipv6 = dual ? ip6(networks, outside.getOrDefault(IpForwarding.IPV6, Set.of())) : "";
    return ip(networks, outside.getOrDefault(IpForwarding.IPV4, Set.of()))
        + (hostHasIpv6 ? fresh("ip6") + ipv6 : "");
  }

  /**
   * What neither comes from nor goes to one of our networks. Bridges and veths that were made since
   * belong to others that run containers or machines, who filter what is theirs.
   */
  private static String elsewhere(Set<String> outside) {
    return outside.isEmpty()
        ? "chain elsewhere { }"
        : """
        chain elsewhere {
          iifname != { %1$s } meta iifkind { "bridge", "veth" } return
          oifname != { %1$s } meta oifkind { "bridge", "veth" } return
          drop
        }\
        """
            .formatted(
                outside.stream().map(NetworkTables::quoted).collect(Collectors.joining(", ")));
  }

  /**
   * The interface to other nodes of a cluster, if this one is in any. A table of its own says which
   * of them reach which bridge; what it let pass is accepted here, and keeps its address.
   */
  private String overlay() {
    return table + "-vx";
  }

  private String fresh(String family) {
    return "table %1$s %2$s\ndelete table %1$s %2$s\n".formatted(family, table);
  }

  private String ip(List<NamedNetwork> networks, Set<String> outside) {
    return fresh("ip")
        + """
        table ip %1$s {
          set bridges { type ifname; %2$s }
          set within { type ifname . ifname; %3$s }
          set internal { type ifname; %5$s }
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
            oifname "%7$s" return
            ct status dnat ip saddr 127.0.0.0/8 masquerade
            ct status dnat ip saddr @subnets ip daddr @subnets masquerade
            ip saddr @subnets ip daddr != @subnets ip daddr != 224.0.0.0/4 masquerade
          }
          %6$s
          chain forward {
            type filter hook forward priority filter; policy accept;
            iifname @internal iifname . oifname != @within ct direction reply accept
            iifname @internal iifname . oifname != @within drop
            ct status dnat accept
            ct state established,related accept
            iifname "%7$s" oifname @bridges oifname != @internal accept
            iifname != @bridges oifname @bridges drop
            iifname @bridges oifname @bridges iifname . oifname != @within drop
            iifname != @bridges oifname != @bridges jump elsewhere
          }
        }
        """
            .formatted(
                table,
                bridgeNames(networks),
                pairs(networks),
                elements(networks.stream(), network -> network.subnet().toString()),
                internal(networks),
                elsewhere(outside),
                overlay());
  }

  /**
   * The same for IPv6. The kernel forwards nothing that was sent to ::1 or from a link, so these
   * are left to whoever listens.
   */
  private String ip6(List<NamedNetwork> networks, Set<String> outside) {
    return """
    table ip6 %1$s {
      set bridges { type ifname; %2$s }
      set within { type ifname . ifname; %3$s }
      set internal { type ifname; %5$s }
      set subnets { type ipv6_addr; flags interval; %4$s }
      map tcp_any { type inet_service : ipv6_addr . inet_service; }
      map udp_any { type inet_service : ipv6_addr . inet_service; }
      map tcp_one { type ipv6_addr . inet_service : ipv6_addr . inet_service; }
      map udp_one { type ipv6_addr . inet_service : ipv6_addr . inet_service; }
      chain publish {
        ip6 daddr { ::1, fe80::/10 } return
        meta l4proto tcp dnat ip6 to ip6 daddr . tcp dport map @tcp_one
        meta l4proto tcp dnat ip6 to tcp dport map @tcp_any
        meta l4proto udp dnat ip6 to ip6 daddr . udp dport map @udp_one
        meta l4proto udp dnat ip6 to udp dport map @udp_any
      }
      chain prerouting {
        type nat hook prerouting priority dstnat; policy accept;
        fib daddr type local jump publish
      }
      chain output {
        type nat hook output priority -100; policy accept;
        fib daddr type local jump publish
      }
      chain postrouting {
        type nat hook postrouting priority srcnat; policy accept;
        ct status dnat ip6 saddr @subnets ip6 daddr @subnets masquerade
        ip6 saddr @subnets ip6 daddr != @subnets ip6 daddr != { fe80::/10, ff00::/8 } masquerade
      }
      %6$s
      chain forward {
        type filter hook forward priority filter; policy accept;
        iifname @internal iifname . oifname != @within ct direction reply accept
        iifname @internal iifname . oifname != @within drop
        ct status dnat accept
        ct state established,related accept
        iifname != @bridges oifname @bridges drop
        iifname @bridges oifname @bridges iifname . oifname != @within drop
        iifname != @bridges oifname != @bridges jump elsewhere
      }
    }
    """
        .formatted(
            table,
            bridgeNames(networks),
            pairs(networks),
            elements(
                networks.stream().flatMap(network -> network.subnetIpv6().stream()),
                Subnet6::toString),
            internal(networks),
            elsewhere(outside));
  }

  /**
   * Nobody on a bridge may say that the address of this host or of another container were its own,
   * by ARP, neighbour discovery or by what it sends, or be a router of the others. Nor may it use
   * another's MAC address, which would draw the other's frames to its port. Frames of other kinds
   * are dropped: a tag for VLAN 0 would hide what is in them from these rules and from nobody else.
   */
  String bridged(List<NamedNetwork> networks) {
    return fresh("bridge")
        + """
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
                elements(networks.stream(), network -> IpText.of(network.gateway())),
                elements(networks.stream(), network -> network.subnet().toString()));
  }

  /** Adds or deletes what interfaces on bridges may send as. */
  String stations(String verb, Map<String, Station> changed) {
    var lines = new StringBuilder();
    changed.forEach(
        (port, station) -> {
          String name = quoted(port);
          var elements = new LinkedHashMap<String, String>();
          elements.put("ports", name);
          elements.put("macs", name + " . " + station.mac());
          elements.put("owners", name + " . " + IpText.of(station.address()));
          elements.put("locals", each(name, station, IpText::of));
          elements.put("targets", each(name, station, NetworkTables::digits));
          elements.forEach(
              (set, element) ->
                  lines.append(
                      "%s element bridge %s %s { %s }\n".formatted(verb, table, set, element)));
        });
    return lines.toString();
  }

  private static String each(String name, Station station, Function<InetAddress, String> written) {
    return station.allIpv6().stream()
        .map(address -> name + " . " + written.apply(address))
        .collect(Collectors.joining(", "));
  }

  private static String digits(InetAddress address) {
    return "0x" + java.util.HexFormat.of().formatHex(address.getAddress());
  }

  /** Adds or deletes published ports. */
  String ports(String verb, Map<PortBinding, InetAddress> ports) {
    var lines = new StringBuilder();
    ports.forEach(
        (port, to) ->
            lines.append(
                "%s element %s %s %s\n"
                    .formatted(
                        verb,
                        to instanceof Inet6Address ? "ip6" : "ip",
                        table,
                        element(port, to))));
    return lines.toString();
  }

  private static String element(PortBinding port, InetAddress to) {
    String protocol = port.protocol().name().toLowerCase(Locale.ROOT);
    String target = "%d : %s . %d".formatted(port.hostPort(), IpText.of(to), port.containerPort());
    return port.hostIp().isAnyLocalAddress()
        ? "%s_any { %s }".formatted(protocol, target)
        : "%s_one { %s . %s }".formatted(protocol, IpText.of(port.hostIp()), target);
  }

  private static String bridgeNames(Collection<NamedNetwork> networks) {
    return elements(networks.stream(), network -> quoted(network.bridge()));
  }

  /** Those that nobody may leave who was not called, whatever routes it has. */
  private static String internal(Collection<NamedNetwork> networks) {
    return elements(
        networks.stream().filter(network -> network.options().internal()),
        network -> quoted(network.bridge()));
  }

  private static String pairs(Collection<NamedNetwork> networks) {
    return elements(
        networks.stream(), network -> quoted(network.bridge()) + " . " + quoted(network.bridge()));
  }

  private static <T> String elements(Stream<T> all, Function<T, String> element) {
    String joined = all.map(element).collect(Collectors.joining(", "));
    return joined.isEmpty() ? "" : "elements = { " + joined + " };";
  }

  private static String quoted(String name) {
    return '"' + name + '"';
  }
}

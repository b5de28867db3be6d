package dev.zlayer.proxy;

import dev.zlayer.container.IpText;
import dev.zlayer.port.DeploymentNames.Range;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The text of our nftables table. An endpoint is a chain of one rule that gives each new connection
 * to the next member; established connections keep the member they have, since the kernel tracks
 * each one. What a packet meets does not depend on the number of endpoints or networks: all of them
 * are elements of sets and maps. Pure.
 */
final class EndpointTable {
  private final String name;
  private final boolean hostHasIpv6;

  EndpointTable(String name, boolean hostHasIpv6) {
    this.name = name;
    this.hostHasIpv6 = hostHasIpv6;
  }

  /** The kinds of addresses; each has a table of its own. */
  private enum Family {
    IP,
    IP6;

    String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** The kernel forwards to members nothing that was sent to ::1. */
    boolean serves(Endpoint endpoint) {
      return endpoint.ruled() && (this == IP || !endpoint.key().loopback());
    }
  }

  /**
   * Everything, in place of whatever was there, in one transaction.
   *
   * @param ipv6 whether there may be members with IPv6 addresses
   */
  String whole(
      Collection<Endpoint> endpoints, Collection<Range> ranges, int namePort, boolean ipv6) {
    String second = hostHasIpv6 ? delete("ip6", name) + (ipv6 ? ip6(endpoints) : "") : "";
    return ip(endpoints, ranges, namePort) + second;
  }

  private String ip6(Collection<Endpoint> endpoints) {
    return """
    table ip6 %1$s {
      map tcp_any { type inet_service : verdict; }
      map udp_any { type inet_service : verdict; }
      set udp_any_ports { type inet_service; }
    %2$s  chain endpoints {
        ip6 daddr { ::1, fe80::/10 } return
        tcp dport vmap @tcp_any
        udp dport vmap @udp_any
      }
      chain prerouting {
        type nat hook prerouting priority -101; policy accept;
        fib daddr type local jump endpoints
      }
      chain output {
        type nat hook output priority -101; policy accept;
        fib daddr type local jump endpoints
      }
      chain refuse {
        type filter hook input priority 0; policy accept;
        ip6 daddr != { ::1, fe80::/10 } udp dport @udp_any_ports reject
      }
    }
    %3$s
    """
        .formatted(name, chains(Family.IP6, endpoints), elements(Family.IP6, endpoints));
  }

  private static String chains(Family family, Collection<Endpoint> endpoints) {
    var chains = new StringBuilder();
    endpoints.stream()
        .filter(family::serves)
        .forEach(
            endpoint ->
                chains.append(
                    "  chain %s {\n%s  }\n"
                        .formatted(chain(endpoint.key()), rule(family, endpoint))));
    return chains.toString();
  }

  private String elements(Family family, Collection<Endpoint> endpoints) {
    return endpoints.stream()
        .filter(family::serves)
        .flatMap(endpoint -> elements(family, endpoint.key()).stream())
        .map(element -> "add " + element)
        .collect(Collectors.joining("\n"));
  }

  private String ip(Collection<Endpoint> endpoints, Collection<Range> ranges, int namePort) {
    return """
    table ip %1$s
    delete table ip %1$s
    table ip %1$s {
      map tcp_any { type inet_service : verdict; }
      map udp_any { type inet_service : verdict; }
      map tcp_loopback { type inet_service : verdict; }
      map udp_loopback { type inet_service : verdict; }
      set udp_any_ports { type inet_service; }
      set udp_loopback_ports { type inet_service; }
      set name_servers { type ifname . ipv4_addr; %3$s }
      set name_bridges { type ifname; %4$s }
    %2$s  chain endpoints {
        ip daddr 127.0.0.0/8 tcp dport vmap @tcp_loopback
        ip daddr 127.0.0.0/8 udp dport vmap @udp_loopback
        tcp dport vmap @tcp_any
        udp dport vmap @udp_any
      }
      chain prerouting {
        type nat hook prerouting priority -101; policy accept;
        iifname != "lo" ip daddr 127.0.0.0/8 return
        iifname . ip daddr @name_servers udp dport 53 dnat to 127.0.0.1:%5$d
        iifname . ip daddr @name_servers tcp dport 53 dnat to 127.0.0.1:%5$d
        fib daddr type local jump endpoints
      }
      chain output {
        type nat hook output priority -101; policy accept;
        fib daddr type local jump endpoints
      }
      chain refuse {
        type filter hook input priority 0; policy accept;
        ip daddr 127.0.0.0/8 udp dport @udp_loopback_ports reject
        udp dport @udp_any_ports reject
      }
      chain silence {
        type filter hook output priority 0; policy accept;
        oifname @name_bridges icmp type destination-unreachable ct original proto-dst 53 drop
      }
    }
    %6$s
    """
        .formatted(
            name,
            chains(Family.IP, endpoints),
            list(ranges, EndpointTable::server),
            list(ranges, range -> quoted(range.bridge())),
            namePort,
            elements(Family.IP, endpoints));
  }

  /** The commands from one state of a service to another; empty when they are the same. */
  String change(
      Map<Endpoint.Key, Endpoint> before, Map<Endpoint.Key, Endpoint> after, boolean ipv6) {
    var lines = new ArrayList<String>();
    change(Family.IP, before, after, lines);
    if (ipv6) {
      change(Family.IP6, before, after, lines);
    }
    return String.join("\n", lines);
  }

  private void change(
      Family family,
      Map<Endpoint.Key, Endpoint> before,
      Map<Endpoint.Key, Endpoint> after,
      List<String> lines) {
    for (Endpoint endpoint : before.values()) {
      Endpoint then = after.get(endpoint.key());
      if (family.serves(endpoint) && (then == null || !family.serves(then))) {
        String chain = inTable(family, chain(endpoint.key()));
        elements(family, endpoint.key()).forEach(element -> lines.add("delete " + element));
        lines.add("flush chain " + chain);
        lines.add("delete chain " + chain);
      }
    }
    for (Endpoint endpoint : after.values()) {
      Endpoint old = before.get(endpoint.key());
      if (family.serves(endpoint) && !endpoint.equals(old)) {
        String chain = inTable(family, chain(endpoint.key()));
        lines.add("add chain " + chain);
        lines.add("flush chain " + chain);
        String rule = rule(family, endpoint).strip();
        if (!rule.isEmpty()) {
          lines.add("add rule %s %s".formatted(chain, rule));
        }
        if (old == null || !family.serves(old)) {
          elements(family, endpoint.key()).forEach(element -> lines.add("add " + element));
        }
      }
    }
  }

  private String inTable(Family family, String chain) {
    return "%s %s %s".formatted(family.text(), name, chain);
  }

  /** Containers behind that bridge ask our name server. */
  String add(Range range) {
    return names("add", range);
  }

  String delete(Range range) {
    return names("delete", range);
  }

  String delete() {
    return delete("ip", name) + (hostHasIpv6 ? delete("ip6", name) : "");
  }

  /** Also when there is none. */
  static String delete(String family, String table) {
    return "table %1$s %2$s\ndelete table %1$s %2$s\n".formatted(family, table);
  }

  private String names(String verb, Range range) {
    return "%1$s element ip %2$s name_servers { %3$s }\n%1$s element ip %2$s name_bridges { %4$s }\n"
        .formatted(verb, name, server(range), quoted(range.bridge()));
  }

  /** The address of this host on a bridge; the server itself listens on loopback. */
  private static String server(Range range) {
    return quoted(range.bridge()) + " . " + range.gateway().getHostAddress();
  }

  private static String list(Collection<Range> ranges, Function<Range, String> element) {
    return ranges.isEmpty()
        ? ""
        : ranges.stream().map(element).collect(Collectors.joining(", ", "elements = { ", " };"));
  }

  private static String quoted(String text) {
    return '"' + text + '"';
  }

  private static String chain(Endpoint.Key key) {
    return "endpoint_" + key.text();
  }

  private List<String> elements(Family family, Endpoint.Key key) {
    String map = "%s_%s".formatted(key.protocol(), key.loopback() ? "loopback" : "any");
    String jump =
        "element %s { %d : jump %s }".formatted(inTable(family, map), key.port(), chain(key));
    return key.protocol().equals("udp")
        ? List.of(jump, "element %s_ports { %d }".formatted(inTable(family, map), key.port()))
        : List.of(jump);
  }

  /** Without members there is none: the connection is refused at once. */
  private static String rule(Family family, Endpoint endpoint) {
    List<InetAddress> members = endpoint.members(family == Family.IP6);
    String protocol = endpoint.key().protocol();
    if (members.isEmpty()) {
      return "";
    }
    if (endpoint.forwarding() == Endpoint.Forwarding.REDIRECT) {
      return "    meta l4proto %s redirect to :%d\n".formatted(protocol, endpoint.targetPort());
    }
    if (members.size() == 1) {
      return "    meta l4proto %s dnat to %s:%d\n"
          .formatted(protocol, IpText.beforePort(members.getFirst()), endpoint.targetPort());
    }
    var turns = new ArrayList<String>();
    for (int i = 0; i < members.size(); i++) {
      turns.add(i + " : " + IpText.of(members.get(i)));
    }
    return "    meta l4proto %s dnat to numgen inc mod %d map { %s } : %d\n"
        .formatted(protocol, members.size(), String.join(", ", turns), endpoint.targetPort());
  }
}

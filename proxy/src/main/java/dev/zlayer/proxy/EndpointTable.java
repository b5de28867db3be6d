package dev.zlayer.proxy;

import dev.zlayer.port.DeploymentNames.Range;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
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

  EndpointTable(String name) {
    this.name = name;
  }

  /** Everything, in place of whatever was there, in one transaction. */
  String whole(Collection<Endpoint> endpoints, Collection<Range> ranges, int namePort) {
    var chains = new StringBuilder();
    var elements = new ArrayList<String>();
    for (Endpoint endpoint : endpoints) {
      if (endpoint.ruled()) {
        chains.append("  chain %s {\n%s  }\n".formatted(chain(endpoint.key()), rule(endpoint)));
        elements(endpoint.key()).forEach(element -> elements.add("add " + element));
      }
    }
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
            chains,
            list(ranges, EndpointTable::server),
            list(ranges, range -> quoted(range.bridge())),
            namePort,
            String.join("\n", elements));
  }

  /** The commands from one state of a service to another; empty when they are the same. */
  String change(Map<Endpoint.Key, Endpoint> before, Map<Endpoint.Key, Endpoint> after) {
    var lines = new ArrayList<String>();
    for (Endpoint endpoint : before.values()) {
      Endpoint then = after.get(endpoint.key());
      if (endpoint.ruled() && (then == null || !then.ruled())) {
        elements(endpoint.key()).forEach(element -> lines.add("delete " + element));
        lines.add("flush chain ip %s %s".formatted(name, chain(endpoint.key())));
        lines.add("delete chain ip %s %s".formatted(name, chain(endpoint.key())));
      }
    }
    for (Endpoint endpoint : after.values()) {
      Endpoint old = before.get(endpoint.key());
      if (endpoint.ruled() && !endpoint.equals(old)) {
        String chain = chain(endpoint.key());
        lines.add("add chain ip %s %s".formatted(name, chain));
        lines.add("flush chain ip %s %s".formatted(name, chain));
        String rule = rule(endpoint).strip();
        if (!rule.isEmpty()) {
          lines.add("add rule ip %s %s %s".formatted(name, chain, rule));
        }
        if (old == null || !old.ruled()) {
          elements(endpoint.key()).forEach(element -> lines.add("add " + element));
        }
      }
    }
    return String.join("\n", lines);
  }

  /** Containers behind that bridge ask our name server. */
  String add(Range range) {
    return names("add", range);
  }

  String delete(Range range) {
    return names("delete", range);
  }

  String delete() {
    return delete(name);
  }

  /** Also when there is none. */
  static String delete(String table) {
    return "table ip %1$s\ndelete table ip %1$s\n".formatted(table);
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

  private List<String> elements(Endpoint.Key key) {
    String map = "%s_%s".formatted(key.protocol(), key.loopback() ? "loopback" : "any");
    String jump = "element ip %s %s { %d : jump %s }".formatted(name, map, key.port(), chain(key));
    return key.protocol().equals("udp")
        ? List.of(jump, "element ip %s %s_ports { %d }".formatted(name, map, key.port()))
        : List.of(jump);
  }

  /** Without members there is none: the connection is refused at once. */
  private static String rule(Endpoint endpoint) {
    List<InetAddress> members = endpoint.members();
    String protocol = endpoint.key().protocol();
    if (members.isEmpty()) {
      return "";
    }
    if (endpoint.forwarding() == Endpoint.Forwarding.REDIRECT) {
      return "    meta l4proto %s redirect to :%d\n".formatted(protocol, endpoint.targetPort());
    }
    if (members.size() == 1) {
      return "    meta l4proto %s dnat to %s:%d\n"
          .formatted(protocol, members.getFirst().getHostAddress(), endpoint.targetPort());
    }
    var turns = new ArrayList<String>();
    for (int i = 0; i < members.size(); i++) {
      turns.add(i + " : " + members.get(i).getHostAddress());
    }
    return "    meta l4proto %s dnat to numgen inc mod %d map { %s } : %d\n"
        .formatted(protocol, members.size(), String.join(", ", turns), endpoint.targetPort());
  }
}

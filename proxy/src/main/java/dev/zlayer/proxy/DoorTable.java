package dev.zlayer.proxy;

import dev.zlayer.port.DeploymentNames.Range;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The text of our nftables table. A door is a chain of one rule that gives each new connection to
 * the next member; the connections there are keep the member they have, since the kernel remembers
 * each one. Pure.
 */
final class DoorTable {
  private final String name;

  DoorTable(String name) {
    this.name = name;
  }

  /** Everything, in the place of whatever was there, in one transaction. */
  String whole(Collection<Door> doors, Collection<Range> ranges, int namePort) {
    var chains = new StringBuilder();
    var elements = new ArrayList<String>();
    for (Door door : doors) {
      if (ruled(door)) {
        chains.append("  chain %s {\n%s  }\n".formatted(chain(door.key()), rule(door)));
        elements.add("add " + element(door.key()));
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
    %2$s  chain doors {
        ip daddr 127.0.0.0/8 tcp dport vmap @tcp_loopback
        ip daddr 127.0.0.0/8 udp dport vmap @udp_loopback
        tcp dport vmap @tcp_any
        udp dport vmap @udp_any
      }
      chain names {
    %3$s  }
      chain prerouting {
        type nat hook prerouting priority -101; policy accept;
        jump names
        fib daddr type local jump doors
      }
      chain output {
        type nat hook output priority -101; policy accept;
        fib daddr type local jump doors
      }
      chain silence {
        type filter hook output priority 0; policy accept;
    %4$s  }
    }
    %5$s
    """
        .formatted(
            name, chains, names(ranges, namePort), silence(ranges), String.join("\n", elements));
  }

  /** What leads from one state to another; empty when they are the same. */
  String change(Map<Door.Key, Door> before, Map<Door.Key, Door> after) {
    var lines = new ArrayList<String>();
    new TreeMap<>(byText(before))
        .forEach(
            (_, door) -> {
              Door then = after.get(door.key());
              if (ruled(door) && (then == null || !ruled(then))) {
                lines.add("delete " + element(door.key()));
                lines.add("flush chain ip %s %s".formatted(name, chain(door.key())));
                lines.add("delete chain ip %s %s".formatted(name, chain(door.key())));
              }
            });
    new TreeMap<>(byText(after))
        .forEach(
            (_, door) -> {
              Door old = before.get(door.key());
              if (ruled(door) && !door.equals(old)) {
                String chain = chain(door.key());
                lines.add("add chain ip %s %s".formatted(name, chain));
                lines.add("flush chain ip %s %s".formatted(name, chain));
                String rule = rule(door).strip();
                if (!rule.isEmpty()) {
                  lines.add("add rule ip %s %s %s".formatted(name, chain, rule));
                }
                if (old == null || !ruled(old)) {
                  lines.add("add " + element(door.key()));
                }
              }
            });
    return String.join("\n", lines);
  }

  String names(Collection<Range> ranges, Collection<Range> old, int namePort) {
    if (List.copyOf(ranges).equals(List.copyOf(old))) {
      return "";
    }
    var text = new StringBuilder();
    text.append("flush chain ip %1$s names\nflush chain ip %1$s silence\n".formatted(name));
    names(ranges, namePort)
        .lines()
        .forEach(line -> text.append("add rule ip %s names %s\n".formatted(name, line.strip())));
    silence(ranges)
        .lines()
        .forEach(line -> text.append("add rule ip %s silence %s\n".formatted(name, line.strip())));
    return text.toString();
  }

  String delete() {
    return "table ip %1$s\ndelete table ip %1$s\n".formatted(name);
  }

  private static Map<String, Door> byText(Map<Door.Key, Door> doors) {
    var result = new TreeMap<String, Door>();
    doors.values().forEach(door -> result.put(door.key().text(), door));
    return result;
  }

  /**
   * Questions for the machine's address on a bridge go to our server, which listens on loopback.
   */
  private static String names(Collection<Range> ranges, int port) {
    var lines = new StringBuilder();
    for (Range range : ranges) {
      for (String protocol : List.of("udp", "tcp")) {
        lines.append(
            "    iifname \"%s\" ip daddr %s %s dport 53 dnat to 127.0.0.1:%d\n"
                .formatted(range.bridge(), range.gateway().getHostAddress(), protocol, port));
      }
    }
    return lines.toString();
  }

  /**
   * While the agent is away nobody answers. A resolver that is told so gives up; one that hears
   * nothing asks again a little later.
   */
  private static String silence(Collection<Range> ranges) {
    var lines = new StringBuilder();
    for (Range range : ranges) {
      lines.append(
          "    oifname \"%s\" icmp type destination-unreachable ct original proto-dst 53 drop\n"
              .formatted(range.bridge()));
    }
    return lines.toString();
  }

  private static boolean ruled(Door door) {
    return door.way() == Door.Way.KERNEL || door.way() == Door.Way.REDIRECT;
  }

  private static String chain(Door.Key key) {
    return "door_" + key.text();
  }

  private String element(Door.Key key) {
    String map =
        "%s_%s"
            .formatted(
                key.transport().name().toLowerCase(Locale.ROOT),
                key.loopback() ? "loopback" : "any");
    return "element ip %s %s { %d : jump %s }".formatted(name, map, key.port(), chain(key));
  }

  /** Without members there is none: nobody listens, and the caller is told so at once. */
  private static String rule(Door door) {
    List<InetAddress> members = door.members();
    String protocol = door.key().transport().name().toLowerCase(Locale.ROOT);
    if (members.isEmpty()) {
      return "";
    }
    if (door.way() == Door.Way.REDIRECT) {
      return "    meta l4proto %s redirect to :%d\n".formatted(protocol, door.targetPort());
    }
    if (members.size() == 1) {
      return "    meta l4proto %s dnat to %s:%d\n"
          .formatted(protocol, members.getFirst().getHostAddress(), door.targetPort());
    }
    var turns = new ArrayList<String>();
    for (int i = 0; i < members.size(); i++) {
      turns.add(i + " : " + members.get(i).getHostAddress());
    }
    return "    meta l4proto %s dnat to numgen inc mod %d map { %s } : %d\n"
        .formatted(protocol, members.size(), String.join(", ", turns), door.targetPort());
  }
}

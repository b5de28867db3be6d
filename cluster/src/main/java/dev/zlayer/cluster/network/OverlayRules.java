package dev.zlayer.cluster.network;

import java.util.HexFormat;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The nftables table of the overlay. VXLAN itself trusts whoever sends a datagram, so these rules
 * say who may: nodes alone encapsulate, sources are those of the sender's subnet, and what arrives
 * reaches a bridge only on a path that exists. The tables of the agent's networks accept what these
 * rules have let pass. Pure.
 */
final class OverlayRules {
  /** Begins the name of an empty chain which says what the rules were made from. */
  static final String MARK = "of_";

  private OverlayRules() {}

  /** In place of whatever was there, in one transaction. */
  static String text(DesiredOverlay spec) {
    String body =
        """
          set nodes { type ipv4_addr; %4$s }
          set gateways { type ipv4_addr; %5$s }
          set remote { type ipv4_addr; flags interval; %6$s }
          set paths { type ifname . ipv4_addr; flags interval; %7$s }
          chain guard {
            type filter hook prerouting priority raw; policy accept;
            iifname "%1$s" ip daddr 127.0.0.0/8 drop
            iifname "%1$s" ip saddr != @remote drop
            iifname != "%1$s" ip saddr @remote drop
          }
          chain input {
            type filter hook input priority filter - 5; policy accept;
            udp dport %3$d ip saddr != @nodes drop
          }
          chain forward {
            type filter hook forward priority filter - 5; policy accept;
            udp dport %3$d ip daddr @nodes drop
            oifname "%1$s" ct status dnat accept
            oifname "%1$s" ip saddr != %2$s drop
            iifname "%1$s" ct state established,related accept
            iifname "%1$s" ip saddr @gateways accept
            iifname "%1$s" oifname . ip saddr @paths accept
            iifname "%1$s" drop
          }
          chain postrouting {
            type nat hook postrouting priority srcnat - 5; policy accept;
            oifname "%1$s" ip saddr != %2$s masquerade
            oifname "%1$s" ct status dnat masquerade
          }
        %8$s\
        """
            .formatted(
                spec.device(),
                spec.subnet(),
                spec.port(),
                elements(spec.peers().stream(), DesiredOverlay.Peer::address),
                elements(spec.peers().stream(), peer -> peer.subnet().first()),
                elements(spec.peers().stream(), peer -> peer.subnet().toString()),
                elements(
                    spec.paths().stream(),
                    path -> "\"%s\" . %s".formatted(path.bridge(), path.from())),
                spec.encryption().isPresent() ? onlyEncrypted(spec) : "");
    return "%stable ip %s {\n  chain %s { }\n%s}\n"
        .formatted(none(spec.table()), spec.table(), mark(body), body);
  }

  /** Without the interface, packets for other nodes would leave by the route to everywhere. */
  private static String onlyEncrypted(DesiredOverlay spec) {
    return """
      chain leave {
        type filter hook postrouting priority filter; policy accept;
        oifname != "%s" ip daddr @remote drop
      }
    """
        .formatted(spec.device());
  }

  /** The mark that these rules have. */
  static String mark(DesiredOverlay spec) {
    String text = text(spec);
    int start = text.indexOf("chain " + MARK) + "chain ".length();
    return text.substring(start, text.indexOf(' ', start));
  }

  static String none(String table) {
    return "table ip %1$s\ndelete table ip %1$s\n".formatted(table);
  }

  private static String mark(String body) {
    long hash = 1125899906842597L;
    for (int i = 0; i < body.length(); i++) {
      hash = 31 * hash + body.charAt(i);
    }
    return MARK + HexFormat.of().toHexDigits(hash);
  }

  private static <T> String elements(Stream<T> all, Function<T, String> element) {
    String joined = all.map(element).distinct().sorted().collect(Collectors.joining(", "));
    return joined.isEmpty() ? "" : "elements = { " + joined + " };";
  }
}

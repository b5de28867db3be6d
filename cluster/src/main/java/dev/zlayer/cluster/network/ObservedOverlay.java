package dev.zlayer.cluster.network;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The overlay as the kernel has it.
 *
 * @param link absent when there is no such interface
 * @param addresses IPv4 ones of the interface, each with its length
 * @param routes gateways by subnet
 * @param neighbours MAC addresses by address, permanent ones alone
 * @param forwarding addresses of nodes by MAC address
 * @param rules the mark of the rules that are in force; empty for none
 * @param tunnels of an interface that encrypts
 */
public record ObservedOverlay(
    Optional<Link> link,
    Set<String> addresses,
    Map<String, String> routes,
    Map<String, String> neighbours,
    Map<String, String> forwarding,
    String rules,
    Tunnels tunnels) {
  public static final ObservedOverlay NONE =
      new ObservedOverlay(Optional.empty(), Set.of(), Map.of(), Map.of(), Map.of(), "");

  /** Without encryption. */
  public ObservedOverlay(
      Optional<Link> link,
      Set<String> addresses,
      Map<String, String> routes,
      Map<String, String> neighbours,
      Map<String, String> forwarding,
      String rules) {
    this(link, addresses, routes, neighbours, forwarding, rules, Tunnels.NONE);
  }

  public ObservedOverlay {
    addresses = Set.copyOf(addresses);
    routes = Map.copyOf(routes);
    neighbours = Map.copyOf(neighbours);
    forwarding = Map.copyOf(forwarding);
  }

  /**
   * What WireGuard has of this node and of others.
   *
   * @param publicKey of this node; empty for none
   * @param remotes by their public keys
   */
  public record Tunnels(String publicKey, int port, Map<String, Remote> remotes) {
    public static final Tunnels NONE = new Tunnels("", 0, Map.of());

    public Tunnels {
      remotes = Map.copyOf(remotes);
    }

    /** From {@code wg show DEVICE dump}: a line for this node and one for each other one. */
    static Tunnels parse(String dump) {
      var remotes = new HashMap<String, Remote>();
      String own = "";
      int port = 0;
      for (String line : dump.lines().toList()) {
        List<String> fields = List.of(line.split("\t", -1));
        if (fields.size() == 4) {
          own = fields.get(1);
          port = Integer.parseInt(fields.get(2));
        } else if (fields.size() >= 4) {
          remotes.put(fields.get(0), new Remote(fields.get(2), fields.get(3)));
        }
      }
      return new Tunnels(own, port, remotes);
    }
  }

  /**
   * Another node.
   *
   * @param sources the addresses that its packets may have
   */
  public record Remote(String endpoint, String sources) {}

  /** The interface. */
  public record Link(
      String kind,
      String mac,
      int mtu,
      boolean up,
      int vni,
      int port,
      String local,
      boolean learning) {}
}

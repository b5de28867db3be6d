package dev.zlayer.cluster.network;

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
 */
public record ObservedOverlay(
    Optional<Link> link,
    Set<String> addresses,
    Map<String, String> routes,
    Map<String, String> neighbours,
    Map<String, String> forwarding,
    String rules) {
  public static final ObservedOverlay NONE =
      new ObservedOverlay(Optional.empty(), Set.of(), Map.of(), Map.of(), Map.of(), "");

  public ObservedOverlay {
    addresses = Set.copyOf(addresses);
    routes = Map.copyOf(routes);
    neighbours = Map.copyOf(neighbours);
    forwarding = Map.copyOf(forwarding);
  }

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

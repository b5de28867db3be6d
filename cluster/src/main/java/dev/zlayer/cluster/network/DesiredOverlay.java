package dev.zlayer.cluster.network;

import java.util.Comparator;
import java.util.List;
import java.util.Set;

/**
 * The overlay as one node is to have it.
 *
 * @param device name of the interface: that of the agent's tables and {@code -vx}, by which the
 *     rules of its networks know it
 * @param vni separates clusters that share a network
 * @param port UDP port of all nodes
 * @param address of this node, by which the others reach it
 * @param hostMtu of the interface that has this address
 * @param subnet of this node
 * @param paths what of other nodes reaches which bridge of this one; everything else is dropped
 */
public record DesiredOverlay(
    String device,
    int vni,
    int port,
    String address,
    int hostMtu,
    NodeSubnet subnet,
    List<Peer> peers,
    Set<Path> paths) {
  public static final int DEFAULT_VNI = 4096;
  public static final int DEFAULT_PORT = 8472;

  /** Headers of the outer IPv4 packet, UDP and VXLAN, and that of the inner frame. */
  private static final int HEADERS = 50;

  public DesiredOverlay {
    peers = peers.stream().sorted(Comparator.comparing(Peer::address)).toList();
    paths = Set.copyOf(paths);
  }

  /** Another node. */
  public record Peer(String address, NodeSubnet subnet) {}

  /**
   * Containers of another node that may reach those on a bridge, as both belong to one deployment.
   *
   * @param from the network of the deployment on the other node
   */
  public record Path(String bridge, NodeSubnet from) {}

  /** Names the interface that belongs to a table of the agent. */
  public static String device(String table) {
    return table + "-vx";
  }

  int mtu() {
    return hostMtu - HEADERS;
  }

  String table() {
    return rules(device.replaceFirst("-vx$", ""));
  }

  /** Names the rules that belong to a table of the agent. */
  static String rules(String table) {
    return table + "_overlay";
  }
}

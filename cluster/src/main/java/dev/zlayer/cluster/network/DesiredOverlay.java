package dev.zlayer.cluster.network;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
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
 * @param encryption with WireGuard in place of VXLAN
 */
public record DesiredOverlay(
    String device,
    int vni,
    int port,
    String address,
    int hostMtu,
    NodeSubnet subnet,
    List<Peer> peers,
    Set<Path> paths,
    Optional<Encryption> encryption) {
  public static final int DEFAULT_VNI = 4096;
  public static final int DEFAULT_PORT = 8472;

  /** Of WireGuard. */
  public static final int ENCRYPTED_PORT = 51820;

  /** Headers of the outer IPv4 packet, UDP and VXLAN, and that of the inner frame. */
  private static final int HEADERS = 50;

  /** The same for WireGuard; of an outer packet of IPv6, which is larger, as all its tools do. */
  private static final int ENCRYPTED_HEADERS = 80;

  /** Without encryption. */
  public DesiredOverlay(
      String device,
      int vni,
      int port,
      String address,
      int hostMtu,
      NodeSubnet subnet,
      List<Peer> peers,
      Set<Path> paths) {
    this(device, vni, port, address, hostMtu, subnet, peers, paths, Optional.empty());
  }

  public DesiredOverlay {
    peers = peers.stream().sorted(Comparator.comparing(Peer::address)).toList();
    paths = Set.copyOf(paths);
  }

  /**
   * Another node.
   *
   * @param key its public one; a node without one is not reached where packets are encrypted
   */
  public record Peer(String address, NodeSubnet subnet, Optional<String> key) {
    public Peer(String address, NodeSubnet subnet) {
      this(address, subnet, Optional.empty());
    }
  }

  /**
   * The key of this node.
   *
   * @param keyFile the private one, for programs
   */
  public record Encryption(String keyFile, String publicKey) {}

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
    return hostMtu - (encryption.isPresent() ? ENCRYPTED_HEADERS : HEADERS);
  }

  String table() {
    return rules(device.replaceFirst("-vx$", ""));
  }

  /** Names the rules that belong to a table of the agent. */
  static String rules(String table) {
    return table + "_overlay";
  }
}

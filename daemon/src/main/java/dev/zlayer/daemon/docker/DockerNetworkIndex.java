package dev.zlayer.daemon.docker;

import dev.zlayer.runtime.cni.NamedNetwork;
import dev.zlayer.runtime.cni.Networks;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Networks by the names and ids that clients of Docker use. The agent's default network is called
 * {@code bridge} here, and {@code host} and {@code none} stand for having none of its own.
 */
final class DockerNetworkIndex {
  static final String BRIDGE = "bridge";
  static final String HOST = "host";
  static final String NONE = "none";

  private final Optional<Networks> networks;

  DockerNetworkIndex(Optional<Networks> networks) {
    this.networks = networks;
  }

  /**
   * A network as clients see it.
   *
   * @param network what the agent has for it; absent for host, none, and a bridge not yet used
   */
  record Found(String name, String id, String driver, Optional<NamedNetwork> network) {
    boolean builtIn() {
      return name.equals(BRIDGE) || name.equals(HOST) || name.equals(NONE);
    }

    /** What the agent calls it. */
    String own() {
      return name.equals(BRIDGE) ? NamedNetwork.DEFAULT : name;
    }
  }

  List<Found> all() {
    var all = new ArrayList<Found>();
    for (NamedNetwork network : networks.map(Networks::networks).orElse(List.of())) {
      all.add(of(network));
    }
    if (all.stream().noneMatch(one -> one.name().equals(BRIDGE))) {
      all.addFirst(
          new Found(BRIDGE, ContainerEndpoints.networkId(BRIDGE), BRIDGE, Optional.empty()));
    }
    all.add(new Found(HOST, ContainerEndpoints.networkId(HOST), HOST, Optional.empty()));
    all.add(new Found(NONE, ContainerEndpoints.networkId(NONE), "null", Optional.empty()));
    return all;
  }

  static Found of(NamedNetwork network) {
    String name = shown(network.name());
    return new Found(name, ContainerEndpoints.networkId(name), BRIDGE, Optional.of(network));
  }

  /** The name of a network for clients. */
  static String shown(String own) {
    return own.equals(NamedNetwork.DEFAULT) ? BRIDGE : own;
  }

  /** By name, id, or a unique beginning of an id. */
  Found require(String reference) {
    return find(reference)
        .orElseThrow(() -> DockerError.notFound("network %s not found".formatted(reference)));
  }

  Optional<Found> find(String reference) {
    String asked = reference.equals("default") ? BRIDGE : reference;
    List<Found> all = all();
    Optional<Found> exact =
        all.stream().filter(one -> one.name().equals(asked) || one.id().equals(asked)).findFirst();
    if (exact.isPresent() || !asked.matches("[0-9a-f]{1,63}")) {
      return exact;
    }
    List<Found> begun = all.stream().filter(one -> one.id().startsWith(asked)).toList();
    if (begun.size() > 1) {
      throw DockerError.badRequest(
          "network %s is ambiguous (%d matches found on ID prefix)"
              .formatted(reference, begun.size()));
    }
    return begun.stream().findFirst();
  }
}

package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.ForwardedPorts;
import dev.zlayer.cluster.deploy.NodeNetwork;
import dev.zlayer.cluster.member.LinkKeys;
import dev.zlayer.cluster.network.DesiredOverlay;
import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.cluster.network.Overlay;
import dev.zlayer.cluster.schedule.HostPort;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.daemon.Agent;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Routes;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.RemoteMembers;
import dev.zlayer.runtime.cni.DeploymentBridges;
import dev.zlayer.runtime.cni.Subnet;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** This machine's part of the network between nodes. */
final class NodeOverlay implements NodeNetwork.Host {
  private final Optional<DeploymentBridges> bridges;
  private final Optional<RemoteMembers> rotation;
  private final Deployments deployments;
  private final String address;

  /** Where packets between nodes are encrypted; used by the owner of the network alone. */
  private final Optional<LinkKeys> keys;

  private volatile Optional<NodeSubnet> subnet = Optional.empty();

  /** Guarded by this object, as is the next one. */
  private Map<ServiceKey, Rotation.Members> served = Map.of();

  /** Ports that replicas of this node use. */
  private final Map<ServiceKey, Set<HostPort>> claims = new HashMap<>();

  /** Services that the engine is about to run. */
  private final Set<ServiceKey> starting = new HashSet<>();

  /**
   * New networks of deployments of the cluster wait for the subnet from now on.
   *
   * @param address under which the other nodes reach this one
   */
  NodeOverlay(Agent agent, String address, Optional<LinkKeys> keys) {
    this.keys = keys.filter(LinkKeys::encrypted);
    this.bridges = agent.bridges();
    this.rotation = agent.remoteMembers();
    this.deployments = agent.deployments();
    this.address = address;
    if (obstacle().isEmpty()) {
      bridges.ifPresent(one -> one.use(this::range));
    }
  }

  @Override
  public Optional<String> obstacle() {
    if (bridges.isEmpty()) {
      return Optional.of("no network between nodes: this one runs no Linux containers");
    }
    return address.contains(":")
        ? Optional.of(
            "no network between nodes: the address %s of this one is not an IPv4 one"
                .formatted(address))
        : Optional.empty();
  }

  /** Throws while it is not known from where networks get their addresses. */
  void require() {
    if (obstacle().isEmpty() && subnet.isEmpty()) {
      throw new AgentException.Unavailable(
          "this node has no subnet of the network between nodes yet");
    }
  }

  private Optional<Subnet> range(String deployment) {
    if (deployments.find(deployment).flatMap(DeploymentStatus::share).isEmpty()) {
      return Optional.empty();
    }
    require();
    return subnet.map(own -> Subnet.parse(own.toString()));
  }

  @Override
  public void use(NodeSubnet own) {
    subnet = Optional.of(own);
  }

  /** Networks of the cluster's deployments are in the node's own subnet, which is not counted. */
  @Override
  public List<NodeSubnet> used() {
    String overlay = DesiredOverlay.device(prefix());
    try {
      return Routes.ipv4().stream()
          .filter(route -> route.prefixLength() > 0 && !route.device().equals(overlay))
          .map(route -> new NodeSubnet(route.destination(), route.prefixLength()))
          .filter(route -> subnet.filter(own -> own.contains(route)).isEmpty())
          .toList();
    } catch (IOException e) {
      throw new AgentException.Network("cannot read the routes of this machine", e);
    }
  }

  @Override
  public Map<String, NodeNetwork.Local> networks() {
    var networks = new TreeMap<String, NodeNetwork.Local>();
    for (DeploymentStatus deployment : deployments.list()) {
      if (deployment.share().isPresent()) {
        bridges
            .flatMap(all -> all.find(deployment.name()))
            .ifPresent(
                network ->
                    networks.put(
                        deployment.name(),
                        new NodeNetwork.Local(
                            network.bridge(), NodeSubnet.parse(network.subnet().toString()))));
      }
    }
    return networks;
  }

  @Override
  public void connect(
      NodeSubnet own, List<DesiredOverlay.Peer> peers, Set<DesiredOverlay.Path> paths)
      throws InterruptedException {
    String device = DesiredOverlay.device(prefix());
    var _ =
        new Overlay()
            .apply(
                new DesiredOverlay(
                    device,
                    DesiredOverlay.DEFAULT_VNI,
                    keys.isPresent() ? DesiredOverlay.ENCRYPTED_PORT : DesiredOverlay.DEFAULT_PORT,
                    address,
                    mtu(),
                    own,
                    peers,
                    paths,
                    keys.map(
                        one ->
                            new DesiredOverlay.Encryption(
                                one.file().toString(), one.publicKey()))));
    try {
      Links.routeLoopback(device); // so that endpoints on 127.0.0.1 reach other nodes, too
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot set up interface %s: %s".formatted(device, e.getMessage()), e);
    }
  }

  @Override
  public Optional<String> publishedKey() {
    return keys.map(LinkKeys::published);
  }

  @Override
  public Optional<String> verifiedKey(String node, String published) {
    return keys.flatMap(all -> all.verified(node, published));
  }

  /** A program may have ended that made the interface. */
  @Override
  public boolean connected() {
    return keys.isEmpty() || Links.exists(DesiredOverlay.device(prefix()));
  }

  @Override
  public synchronized List<String> serve(Map<ServiceKey, Rotation.Members> members)
      throws InterruptedException {
    if (rotation.isEmpty()) {
      return List.of();
    }
    served = members;
    claims.keySet().removeIf(service -> !starting.contains(service) && !runs(service));
    return rotation.get().remote(ForwardedPorts.without(members, claimed()));
  }

  /**
   * Replicas of services are about to use these ports, which are not forwarded until the last of
   * them ended; {@link #started} has to follow.
   */
  synchronized void starting(Map<ServiceKey, Set<HostPort>> ports) throws InterruptedException {
    starting.clear();
    starting.addAll(ports.keySet());
    claims.putAll(ports);
    if (rotation.isPresent()) {
      var _ = rotation.get().remote(ForwardedPorts.without(served, claimed()));
    }
  }

  /** The engine knows of them, or does not run them. */
  synchronized void started() {
    starting.clear();
  }

  private Set<HostPort> claimed() {
    return claims.values().stream().flatMap(Set::stream).collect(Collectors.toSet());
  }

  private boolean runs(ServiceKey service) {
    Optional<DeploymentStatus> status = deployments.find(service.deployment());
    return status
            .flatMap(DeploymentStatus::share)
            .filter(share -> share.has(service.service()))
            .isPresent()
        || status.stream()
            .flatMap(one -> one.services().stream())
            .anyMatch(one -> one.key().equals(service) && !one.replicas().isEmpty());
  }

  /** What this node has of a service, for the others; empty while that is not known. */
  Optional<List<Rotation.Member>> members(ServiceKey service) {
    return rotation.flatMap(all -> all.local(service));
  }

  private int mtu() {
    try {
      NetworkInterface found = NetworkInterface.getByInetAddress(InetAddress.ofLiteral(address));
      if (found == null) {
        throw new AgentException.Network(
            "no interface of this machine has the address %s, under which other nodes know it"
                .formatted(address),
            null);
      }
      return found.getMTU();
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot read the interfaces of this machine: " + e.getMessage(), e);
    }
  }

  /** This node is in no cluster any more; networks get their addresses as before. */
  static void remove(Agent agent) throws InterruptedException {
    if (agent.bridges().isPresent() && agent.remoteMembers().isPresent()) {
      agent.bridges().get().use(_ -> Optional.empty());
      var _ = agent.remoteMembers().get().remote(Map.of());
      var _ = new Overlay().remove(agent.bridges().get().prefix());
    }
  }

  private String prefix() {
    return bridges.orElseThrow().prefix();
  }
}

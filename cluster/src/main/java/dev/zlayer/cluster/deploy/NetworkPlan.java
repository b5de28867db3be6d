package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.network.DesiredOverlay;
import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.NetworkingSpec;
import dev.zlayer.spec.value.NetworkMode;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;

/**
 * What one node's part of the network between nodes is made of. Pure.
 *
 * @param subnet of this node
 * @param members what other nodes have of each service
 * @param problems what cannot be connected, and why
 */
record NetworkPlan(
    NodeSubnet subnet,
    List<DesiredOverlay.Peer> peers,
    Set<DesiredOverlay.Path> paths,
    Map<ServiceKey, Members> members,
    List<String> problems) {
  NetworkPlan {
    members = Map.copyOf(members);
    peers = List.copyOf(peers);
    paths = Set.copyOf(paths);
    problems = List.copyOf(problems);
  }

  /** Whether the kernel needs nothing else for it. */
  boolean sameOverlay(NetworkPlan other) {
    return subnet.equals(other.subnet) && peers.equals(other.peers) && paths.equals(other.paths);
  }

  /**
   * A subnet for a node that has none.
   *
   * @param used what its host uses otherwise
   */
  static Optional<NodeSubnet> free(ClusterState state, Collection<NodeSubnet> used) {
    var taken = new HashSet<>(used);
    taken.addAll(state.subnets().values());
    return NodeSubnet.parse(NodeSubnet.RANGE).allocate(NodeSubnet.PART_LENGTH, taken);
  }

  /**
   * Connects a node with all others, also with those that are not alive at the moment: their
   * containers may run.
   *
   * @param used what its host uses otherwise
   * @param local networks of this node by deployment
   * @param files of deployments, by name and revision
   * @param keys of other nodes that are their own; absent where packets are not encrypted
   */
  static NetworkPlan of(
      ClusterState state,
      String node,
      NodeSubnet subnet,
      Collection<NodeSubnet> used,
      Map<String, NodeNetwork.Local> local,
      BiFunction<String, Long, Optional<DeploymentSpec>> files,
      Optional<Map<String, String>> keys) {
    var peers = new ArrayList<DesiredOverlay.Peer>();
    var problems = new ArrayList<String>();
    for (NodeRecord member : state.members().values()) {
      NodeSubnet theirs = state.subnets().get(member.id());
      if (member.id().equals(node) || theirs == null) {
        continue;
      }
      if (member.address().contains(":")) {
        problems.add(
            "containers of node '%s' are not reached: its address %s is not an IPv4 one"
                .formatted(member.name(), member.address()));
        continue;
      }
      used.stream()
          .filter(theirs::overlaps)
          .findFirst()
          .ifPresent(
              other ->
                  problems.add(
                      "containers of node '%s' are not all reached: its subnet %s overlaps %s,"
                              .formatted(member.name(), theirs, other)
                          + " which this machine uses"));
      Optional<String> key = keys.map(all -> all.get(member.id()));
      if (keys.isPresent() && key.isEmpty()) {
        problems.add(
            "containers of node '%s' are not reached: it has published no key of its own for"
                    .formatted(member.name())
                + " encrypted packets");
      }
      peers.add(new DesiredOverlay.Peer(member.address(), theirs, key));
    }
    if (state.members().size() < 2) {
      return new NetworkPlan(subnet, peers, paths(state, node, local), Map.of(), problems);
    }
    ForwardedPorts.Forwarded forwarded =
        ForwardedPorts.forwarded(
            state, node, members(state, node, files), name -> services(state, name, files));
    problems.addAll(forwarded.problems());
    return new NetworkPlan(subnet, peers, paths(state, node, local), forwarded.members(), problems);
  }

  /** Networks of one deployment reach each other, and none of another one. */
  private static Set<DesiredOverlay.Path> paths(
      ClusterState state, String node, Map<String, NodeNetwork.Local> local) {
    var paths = new HashSet<DesiredOverlay.Path>();
    for (Map.Entry<Place, NodeSubnet> network : state.networks().entrySet()) {
      Place place = network.getKey();
      NodeNetwork.Local own = local.get(place.deployment());
      NodeSubnet theirs = state.subnets().get(place.node());
      if (own != null
          && theirs != null
          && !place.node().equals(node)
          && theirs.contains(network.getValue())) {
        paths.add(new DesiredOverlay.Path(own.bridge(), network.getValue()));
      }
    }
    return paths;
  }

  /**
   * Every service in the network of its deployment, also without members: its endpoints are served
   * on all nodes.
   */
  private static Map<ServiceKey, Members> members(
      ClusterState state, String node, BiFunction<String, Long, Optional<DeploymentSpec>> files) {
    var members = new HashMap<ServiceKey, Members>();
    for (Desired desired : state.desired().values()) {
      services(state, desired.name(), files)
          .forEach(
              (name, service) -> {
                NetworkingSpec networking = service.networking();
                if (service.rtype() == RunType.SERVICE
                    && networking.effectiveMode() instanceof NetworkMode.Standard) {
                  var key = new ServiceKey(desired.name(), name);
                  members.put(
                      key,
                      new Members(
                          key,
                          networking.endpoints(),
                          networking.localhostReachability(),
                          elsewhere(state, node, key)));
                }
              });
    }
    return members;
  }

  /** Those of a deployment as it is desired. */
  private static Map<String, ServiceSpec> services(
      ClusterState state, String name, BiFunction<String, Long, Optional<DeploymentSpec>> files) {
    return Optional.ofNullable(state.desired().get(name))
        .filter(desired -> desired.removing().isEmpty())
        .flatMap(desired -> files.apply(name, desired.revision()))
        .map(DeploymentSpec::services)
        .orElse(Map.of());
  }

  /** Those of nodes that are alive, as reports end with the node. */
  private static List<Member> elsewhere(ClusterState state, String node, ServiceKey key) {
    var members = new TreeMap<String, Member>();
    for (Map.Entry<Place, Desired.Report> report : state.reports().entrySet()) {
      Place place = report.getKey();
      NodeSubnet subnet = state.subnets().get(place.node());
      if (subnet == null
          || place.node().equals(node)
          || !place.deployment().equals(key.deployment())) {
        continue;
      }
      report
          .getValue()
          .service(key.service())
          .flatMap(Desired.ServiceReport::members)
          .orElse(List.of())
          .forEach(
              one ->
                  member(key, subnet, one)
                      .ifPresent(
                          member ->
                              members.put(
                                  "%s/%09d/%s".formatted(one.role(), one.replica(), one.address()),
                                  member)));
    }
    return List.copyOf(members.values());
  }

  /** Empty for what no node should report, which must not end the network of the others. */
  private static Optional<Member> member(ServiceKey key, NodeSubnet subnet, Desired.Member one) {
    try {
      InetAddress address = InetAddress.ofLiteral(one.address());
      return subnet.contains(NodeSubnet.parse(one.address() + "/32"))
          ? Optional.of(
              new Member(
                  new ContainerId(
                      key.deployment(), key.service(), one.role(), one.replica(), one.generation()),
                  address,
                  true))
          : Optional.empty();
    } catch (AgentException | IllegalArgumentException _) {
      return Optional.empty();
    }
  }
}

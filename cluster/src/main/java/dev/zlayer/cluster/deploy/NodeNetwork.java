package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.network.DesiredOverlay;
import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Keeps this node connected with the containers of the others: gets a subnet, says which networks
 * of deployments are in it, and gives the kernel what {@link NetworkPlan} decides. What the kernel
 * has stays while the cluster cannot be reached.
 */
public final class NodeNetwork implements Owner.State {
  private static final Duration ROUND = Duration.ofMillis(500);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** How long something may be missing that somebody removed. */
  private static final Duration CHECK = Duration.ofSeconds(15);

  /** The network of a deployment on this node. */
  public record Local(String bridge, NodeSubnet range) {}

  /** This machine. */
  public interface Host {
    /** Why it cannot be connected at all. */
    Optional<String> obstacle();

    /** The networks that it uses, apart from those of the cluster. */
    List<NodeSubnet> used();

    /** Networks of deployments of the cluster from now on get their addresses from here. */
    void use(NodeSubnet subnet);

    /** The networks of deployments of the cluster. */
    Map<String, Local> networks();

    /** Gives the kernel what is not as it should be. */
    void connect(NodeSubnet subnet, List<DesiredOverlay.Peer> peers, Set<DesiredOverlay.Path> paths)
        throws InterruptedException;

    /** What this node publishes so that packets to it are encrypted; empty where none are. */
    default Optional<String> publishedKey() {
      return Optional.empty();
    }

    /** The key of another node; empty when what was published for it is not its own. */
    default Optional<String> verifiedKey(String node, String published) {
      return Optional.empty();
    }

    /** Whether the kernel may still have what {@link #connect} gave it. */
    default boolean connected() {
      return true;
    }

    /**
     * Forwards connections to these members of other nodes, and answers their names.
     *
     * @return why some are not served; that is tried again with every call
     */
    List<String> serve(Map<ServiceKey, Rotation.Members> members) throws InterruptedException;
  }

  private final ClusterStore store;
  private final StateWatch.Source source;
  private final String node;
  private final Host host;
  private final FileCache files;
  private Optional<NetworkPlan> applied = Optional.empty();
  private Optional<String> appliedKey = Optional.empty();
  private Deadline nextCheck = Deadline.after(Duration.ZERO);
  private volatile Optional<String> problem = Optional.empty();

  /** Does nothing before its owner starts. */
  public NodeNetwork(ClusterStore store, StateWatch.Source source, String node, Host host) {
    this.store = store;
    this.source = source;
    this.node = node;
    this.host = host;
    this.files = new FileCache(store);
  }

  /** What is not connected, and why. */
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      Optional<String> obstacle = host.obstacle();
      List<String> problems = obstacle.isPresent() ? List.of(obstacle.get()) : follow();
      problem = problems.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", problems));
    } catch (AgentException e) {
      problem = Optional.of(String.valueOf(e.getMessage()));
    }
    return ROUND;
  }

  private List<String> follow() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    ClusterState state = source.state();
    if (!state.members().containsKey(node)) {
      return List.of(); // removed from the cluster, which says so elsewhere
    }
    NodeSubnet own = state.subnets().get(node);
    if (own == null) {
      return take(state, deadline);
    }
    host.use(own);
    var local = new TreeMap<String, Local>();
    var problems = new ArrayList<String>();
    host.networks()
        .forEach(
            (deployment, network) -> {
              if (own.contains(network.range())) {
                local.put(deployment, network);
              } else {
                problems.add(
                    "deployment '%s' is not reached from other nodes: its network %s is older than"
                            .formatted(deployment, network.range())
                        + " this node's subnet; remove it with 'zlayer down' and begin it again");
              }
            });
    publish(state, local, deadline);
    load(state, deadline);
    Optional<String> published = host.publishedKey();
    Optional<Map<String, String>> keys =
        published.isPresent()
            ? Optional.of(keys(state, published.get(), deadline))
            : Optional.empty();
    NetworkPlan plan = NetworkPlan.of(state, node, own, host.used(), local, files::find, keys);
    boolean same = applied.filter(plan::sameOverlay).isPresent() && published.equals(appliedKey);
    if (!same || nextCheck.passed() || !host.connected()) {
      applied = Optional.empty();
      appliedKey = published;
      host.connect(plan.subnet(), plan.peers(), plan.paths());
      applied = Optional.of(plan);
      nextCheck = Deadline.after(CHECK);
    }
    problems.addAll(host.serve(plan.members()));
    problems.addAll(plan.problems());
    return problems;
  }

  /** Other nodes send nothing to this one before they have its key. */
  private Map<String, String> keys(ClusterState state, String published, Deadline deadline)
      throws InterruptedException {
    if (!published.equals(state.linkKeys().get(node))) {
      var _ =
          store.transact(
              List.of(state.unchanged(StoreKeys.member(node))),
              List.of(new Change.Put(StoreKeys.linkKey(node), published)),
              deadline);
    }
    var keys = new TreeMap<String, String>();
    state
        .linkKeys()
        .forEach(
            (other, text) -> host.verifiedKey(other, text).ifPresent(key -> keys.put(other, key)));
    return keys;
  }

  private void load(ClusterState state, Deadline deadline) throws InterruptedException {
    var needed = new HashSet<FileCache.Revision>();
    state
        .desired()
        .values()
        .forEach(one -> needed.add(new FileCache.Revision(one.name(), one.revision())));
    files.load(state, needed, deadline);
  }

  /** Another node may be faster: then the next round takes another one. */
  private List<String> take(ClusterState state, Deadline deadline) throws InterruptedException {
    Optional<NodeSubnet> free = NetworkPlan.free(state, host.used());
    if (free.isEmpty()) {
      return List.of(
          "no subnet of %s is free for this node: other nodes or networks of this machine use all"
              .formatted(NodeSubnet.RANGE));
    }
    var _ =
        store.transact(
            List.of(
                state.unchanged(StoreKeys.SUBNET_TURN),
                state.unchanged(StoreKeys.subnet(node)),
                state.unchanged(StoreKeys.member(node))),
            List.of(
                new Change.Put(StoreKeys.SUBNET_TURN, node),
                new Change.Put(StoreKeys.subnet(node), free.get().toString())),
            deadline);
    return List.of();
  }

  /** Other nodes let pass what comes from these networks. */
  private void publish(ClusterState state, Map<String, Local> local, Deadline deadline)
      throws InterruptedException {
    var changes = new ArrayList<Change>();
    state
        .networks()
        .keySet()
        .forEach(
            place -> {
              if (place.node().equals(node) && !local.containsKey(place.deployment())) {
                changes.add(new Change.Delete(place.network()));
              }
            });
    local.forEach(
        (deployment, network) -> {
          var place = new Place(node, deployment);
          if (!network.range().equals(state.networks().get(place))) {
            changes.add(new Change.Put(place.network(), network.range().toString()));
          }
        });
    for (int from = 0; from < changes.size(); from += ClusterStore.MOST_CHANGES) {
      int to = Math.min(changes.size(), from + ClusterStore.MOST_CHANGES);
      var _ =
          store.transact(
              List.of(state.unchanged(StoreKeys.member(node))),
              changes.subList(from, to),
              deadline);
    }
  }
}

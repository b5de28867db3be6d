package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Ipv6;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Rollback;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Connects containers. Containers of one network reach each other, the host and what lies behind
 * it; networks are walled off from each other, except for published ports, which are open to all.
 *
 * <p>Everything is recorded before it is done. Opening finds what earlier agents attached, undoes
 * what they left half made, and writes the rules anew. Only one agent may be open on a directory.
 */
public final class Networks implements AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(Networks.class);
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,199}");
  private static final Duration CLOSE_LIMIT = Duration.ofSeconds(20);

  final NetworkConfig config;
  private final Consumer<String> steps;
  private final Namespaces namespaces = new Namespaces();
  private final Cni cni;
  private final PreparedNamespaceStore store;
  private final NetworkStore networks;
  private final Addresses addresses;
  private final Rules rules;
  private final HostFirewall firewall;
  private final HostPorts ports;
  private final ReleaseLoop releases;
  private final NamespacePreparer slots;
  private final KeyedLock<String> names = new KeyedLock<>();
  private final Map<String, PreparedNamespace> held = new ConcurrentHashMap<>();
  private final NamespacePools pools;
  private final Connections connections;
  private final ContainerNetworks members;
  private final PublishedPorts published;
  private volatile DeploymentNames serving = DeploymentNames.NONE;

  private Networks(NetworkConfig config, Consumer<String> steps)
      throws IOException, InterruptedException {
    this.config = config;
    this.steps = steps;
    this.cni = new Cni(config.pluginDirectories(), config.pluginTimeout());
    this.store = PreparedNamespaceStore.open(config);
    this.networks = NetworkStore.open(config);
    this.addresses = new Addresses(config.addresses());
    this.rules = new Rules(config, Forwarding.open(config));
    this.firewall = new HostFirewall(config);
    this.ports = new HostPorts(config.prefix());
    this.connections = new Connections(config, cni, addresses, rules, steps);
    this.members =
        new ContainerNetworks(
            held, names, connections, store, networks, cni, addresses, rules, ports, steps);
    this.published = new PublishedPorts(held, names, ports, store, members, rules, steps);
    List<PreparedNamespaceStore.Found> found = store.load();
    stopOrphans(found, connections.unfinished());
    this.releases = new ReleaseLoop(cni, store, addresses, rules, steps);
    this.slots =
        new NamespacePreparer(config, namespaces, cni, addresses, store, rules, releases, steps);
    try {
      recover(found);
    } catch (IOException | RuntimeException | InterruptedException e) {
      releases.close();
      ports.close();
      throw e;
    }
    this.pools =
        new NamespacePools(config, (name, count) -> slots.make(network(name), count), slots);
  }

  /** Adopts what is attached, and undoes what an earlier agent left half made. */
  public static Networks open(NetworkConfig config) throws InterruptedException {
    return open(config, _ -> {});
  }

  /** Tells each step that was done, so that a test can end the process there. */
  static Networks open(NetworkConfig config, Consumer<String> steps) throws InterruptedException {
    Networks opened = openUnfilled(config, steps);
    opened.fillPools();
    return opened;
  }

  /** Prepares no namespaces yet: plugins would take the processors that others need to start. */
  public static Networks openUnfilled(NetworkConfig config, Consumer<String> steps)
      throws InterruptedException {
    try {
      return new Networks(config, steps);
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot open the networks in %s: %s".formatted(config.runDirectory(), e.getMessage()), e);
    }
  }

  /**
   * A namespace for a container, connected as the spec wants. A named network is made by its first
   * use.
   *
   * @param runtimeName what the container is called by its runtime; at most one attachment each
   */
  public Attachment attach(String runtimeName, NetworkSpec spec) throws InterruptedException {
    return attach(runtimeName, spec, Optional.empty());
  }

  /** The same with a new namespace that somebody made, for example inside a user namespace. */
  public Attachment attach(String runtimeName, NetworkSpec spec, Optional<Path> from)
      throws InterruptedException {
    if (!NAME.matcher(runtimeName).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' cannot name a network namespace".formatted(runtimeName));
    }
    Optional<String> wanted = NamedNetwork.of(spec);
    try (var _ = names.lock(runtimeName);
        var rollback = new Rollback()) {
      if (held.containsKey(runtimeName)) {
        throw new AgentException.Network(
            "'%s' is attached to a network already: detach it first".formatted(runtimeName));
      }
      List<PortBinding> bindings =
          ports.reserve(runtimeName, spec.ports(), () -> ipv6(runtimeName, wanted));
      rollback.add("free ports", () -> ports.release(runtimeName));
      Optional<String> first = wanted.filter(_ -> connections.of(runtimeName).usual());
      PreparedNamespace slot = obtain(first, from).withPorts(bindings);
      hold(runtimeName, slot);
      rollback.add("detach", () -> leave(runtimeName, slot));
      steps.accept("slot held");
      connections.renew(runtimeName, slot, members::existing);
      if (!members.addresses(runtimeName, slot).isEmpty()) {
        members.publish(runtimeName, slot);
        steps.accept("ports published");
      }
      held.put(runtimeName, slot);
      rollback.commit();
      return members.attachment(runtimeName, slot);
    }
  }

  private boolean ipv6(String runtimeName, Optional<String> wanted) throws InterruptedException {
    return members.dualStack(
        runtimeName, wanted.isPresent() ? Optional.of(network(wanted.get())) : Optional.empty());
  }

  public Optional<Attachment> find(String runtimeName) {
    return Optional.ofNullable(held.get(runtimeName))
        .map(slot -> members.attachment(runtimeName, slot));
  }

  /** Which networks containers are on, and how that is changed. */
  public ContainerNetworks members() {
    return members;
  }

  /** The ports that containers publish, and how that is changed. */
  public PublishedPorts published() {
    return published;
  }

  /** The names of all that are attached, in order. */
  public List<String> attached() {
    return held.keySet().stream().sorted().toList();
  }

  /**
   * Frees the ports at once; the namespace and its address are taken down in the background, also
   * by the next agent if this one ends. Does nothing when there is no such attachment.
   */
  public void detach(String runtimeName) throws InterruptedException {
    try (var _ = names.lock(runtimeName)) {
      PreparedNamespace slot = held.get(runtimeName);
      if (slot != null) {
        rules.unpublish(slot.ports());
      }
      connections.removeAll(runtimeName);
      if (slot == null) {
        return;
      }
      steps.accept("ports unpublished");
      leave(runtimeName, slot);
      held.remove(runtimeName);
      ports.release(runtimeName);
    }
  }

  /** Asks the plugins whether the interface they made is still as they made it. */
  public void check(String runtimeName) throws InterruptedException {
    PreparedNamespace slot = held.get(runtimeName);
    if (slot == null) {
      throw new AgentException.NotFound("attachment " + runtimeName, "it is not attached");
    }
    cni.check(slot.target(), slot.chain(), slot.result());
  }

  /** The container that has published a port; {@code protocol} is tcp or udp. */
  public Optional<String> publisher(String protocol, int port) {
    return ports.holder(protocol, port).map(name -> "container '%s'".formatted(name));
  }

  /** From now on this name server answers on all networks that belong to no deployment. */
  public void serveNames(DeploymentNames server) throws InterruptedException {
    serving = server;
    for (NamedNetwork network : networks.all()) {
      serve(network);
    }
  }

  private void serve(NamedNetwork network) throws InterruptedException {
    if (!network.ofDeployment()) {
      serving.open(DeploymentNames.NETWORK + network.name(), network.range());
    }
  }

  /** Puts back what somebody removed from the rules of containers, ours and those in iptables. */
  public void restoreRules() throws InterruptedException {
    if (rules.restore()) {
      LOG.log(
          System.Logger.Level.WARNING,
          "somebody removed rules of table {0} of nftables; they are written anew",
          config.prefix());
    }
    firewall.admit(dualStack());
  }

  /** What the firewall of this host does to containers, each with what to do about it. */
  public List<String> firewallProblems() throws InterruptedException {
    var problems = new ArrayList<>(firewall.problems(dualStack()));
    if (config.ipv6() || dualStack()) {
      Ipv6.obstacle()
          .ifPresent(reason -> problems.add("containers get no IPv6 addresses: " + reason));
    }
    rules
        .unguarded()
        .ifPresent(
            reason ->
                problems.add(
                    "containers with NET_RAW can take addresses of their network that are not"
                        + " theirs, since nft cannot filter bridges: "
                        + reason));
    return List.copyOf(problems);
  }

  /** All networks that were ever used and not removed. */
  public List<NamedNetwork> networks() {
    return networks.all();
  }

  /** The names of those attached to a network, in order. */
  public List<String> users(String network) {
    return Stream.concat(
            held.entrySet().stream()
                .filter(entry -> entry.getValue().network().equals(Optional.of(network)))
                .map(Map.Entry::getKey),
            connections.users(network).stream())
        .distinct()
        .sorted()
        .toList();
  }

  /** Records a network before its first use. */
  public NamedNetwork create(String name) throws InterruptedException {
    return create(name, NetworkOptions.NONE);
  }

  /** The same with addresses that are asked for. */
  public NamedNetwork create(String name, NetworkOptions options) throws InterruptedException {
    if (networks.find(name).isPresent()) {
      throw new AgentException.Conflict("network '%s' exists already".formatted(name));
    }
    if (name.startsWith(DeploymentBridges.PREFIX)) {
      throw new AgentException.InvalidSpec(
          "network name '%s': names that begin with '%s' are those of deployments"
              .formatted(name, DeploymentBridges.PREFIX));
    }
    return network(name, options, Optional.empty());
  }

  /** The network of that name; it is recorded now if it is new. */
  public NamedNetwork network(String name) throws InterruptedException {
    return network(name, NetworkOptions.NONE, Optional.empty());
  }

  /** {@code within} is the range of a new one; the usual one when absent. */
  NamedNetwork network(String name, NetworkOptions options, Optional<Subnet> within)
      throws InterruptedException {
    boolean known = networks.find(name).isPresent();
    NamedNetwork network = networks.create(name, options, within);
    rules.include(networks::all);
    if (!known) {
      firewall.admit(dualStack()); // Docker or ufw may have started since
    }
    serve(network);
    return network;
  }

  private boolean dualStack() {
    return networks.all().stream().anyMatch(network -> network.subnetIpv6().isPresent());
  }

  /**
   * Removes a network and its bridge; refused while a container is on it. The caller sees to it
   * that none is attached to it meanwhile.
   */
  public void removeNetwork(String name) throws InterruptedException {
    NamedNetwork network =
        networks
            .find(name)
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "network '" + name + "'", "'zlayer network ls' shows those there are"));
    if (name.equals(NamedNetwork.DEFAULT)) {
      throw new AgentException.InvalidSpec("the default network cannot be removed");
    }
    List<String> users = users(name);
    if (!users.isEmpty()) {
      throw new AgentException.Conflict(
          "network '%s' is in use by %s: remove them first with 'zlayer rm -f %s'"
              .formatted(name, String.join(", ", users), String.join(" ", users)));
    }
    serving.close(DeploymentNames.NETWORK + name);
    pools.close(name);
    settle(Deadline.after(config.pluginTimeout()));
    try {
      Links.delete(network.bridge());
      addresses.forget(name);
      networks.forget(name);
    } catch (IOException e) {
      throw new AgentException.Network(
          "network '%s' cannot be removed: %s".formatted(name, e.getMessage()), e);
    }
    rules.include(networks::all);
  }

  /** Waits until all that was detached is gone from the host. */
  public void settle(Deadline deadline) throws InterruptedException {
    releases.settle(deadline);
  }

  /** Addresses that are taken although no namespace of this agent has them: a leak. */
  public List<String> strayAddresses() {
    try {
      var known = new HashSet<String>();
      store.load().forEach(found -> known.add(found.slot().id()));
      List<Addresses.Given> given = addresses.given();
      known.addAll(connections.ids());
      store.load().forEach(found -> known.add(found.slot().id()));
      return given.stream()
          .filter(one -> !known.contains(one.slot()))
          .map(Addresses.Given::ip)
          .toList();
    } catch (IOException e) {
      throw new AgentException.Network("cannot read the given addresses: " + e.getMessage(), e);
    }
  }

  /** Begins to keep namespaces ready; does nothing the second time. */
  public void fillPools() {
    pools.fill();
  }

  /** How many namespaces are ready to be taken. */
  public int prepared() {
    return pools.size();
  }

  /** Takes down what was prepared and has left; what is attached stays attached. */
  @Override
  public void close() throws InterruptedException {
    try {
      pools.close();
      // what fails is recorded as leaving: the next agent goes on with it
      releases.tryAll(Deadline.after(CLOSE_LIMIT));
    } finally {
      releases.close();
      namespaces.close();
      ports.close();
    }
  }

  private PreparedNamespace obtain(Optional<String> wanted, Optional<Path> from)
      throws InterruptedException {
    if (wanted.isPresent() && from.isEmpty()) {
      Optional<PreparedNamespace> prepared = pools.take(wanted.get());
      if (prepared.isPresent()) {
        return prepared.get();
      }
    }
    return slots.make(
        wanted.isPresent() ? Optional.of(network(wanted.get())) : Optional.empty(), from);
  }

  private void hold(String runtimeName, PreparedNamespace slot) {
    try (var rollback = new Rollback()) {
      rollback.add(
          "take down " + slot.id(), () -> slots.leave(PreparedNamespaceStore.Phase.READY, slot));
      store.hold(slot, runtimeName);
      rollback.commit();
    }
  }

  private void leave(String runtimeName, PreparedNamespace slot) {
    store.leave(PreparedNamespaceStore.Phase.HELD, runtimeName, slot);
    steps.accept("slot leaving");
    releases.add(slot);
  }

  /** A plugin that outlived its agent could still take an address for a slot we undo. */
  private static void stopOrphans(
      List<PreparedNamespaceStore.Found> found, Set<String> unfinished) {
    var ids = new HashSet<String>(unfinished);
    for (PreparedNamespaceStore.Found one : found) {
      if (one.phase() == PreparedNamespaceStore.Phase.MAKING
          || one.phase() == PreparedNamespaceStore.Phase.LEAVING) {
        ids.add(one.slot().id());
      }
    }
    Cni.endPlugins(ids);
  }

  private void recover(List<PreparedNamespaceStore.Found> found)
      throws IOException, InterruptedException {
    var published = new HashMap<PortBinding, InetAddress>();
    var stations = new HashMap<String, Station>();
    var known = new HashSet<String>();
    var connected = new HashSet<String>();
    for (PreparedNamespaceStore.Found one : found) {
      boolean bare =
          one.phase() == PreparedNamespaceStore.Phase.HELD && one.slot().chain().isEmpty();
      PreparedNamespace slot = bare ? addressed(one.slot()) : one.slot();
      known.add(slot.id());
      if (!slot.chain().isEmpty() || slot.ip().isPresent()) {
        connected.add(slot.id());
      }
      if (one.phase() == PreparedNamespaceStore.Phase.HELD && Namespaces.alive(slot.netns())) {
        held.put(one.key(), slot);
        ports.adopt(one.key(), slot.ports());
        slot.hostLink()
            .ifPresent(link -> slot.station().ifPresent(station -> stations.put(link, station)));
      } else {
        if (one.phase() != PreparedNamespaceStore.Phase.LEAVING) {
          store.leave(one.phase(), one.key(), slot);
        }
        releases.add(slot);
      }
    }
    connections.recover(held, stations, connected);
    for (String container : List.copyOf(held.keySet())) {
      PreparedNamespace slot = members.namespace(container);
      if (slot.network().isPresent() && !connections.of(container).usual()) {
        slot.hostLink().ifPresent(stations::remove);
        members.leaveUsual(container, slot); // an earlier agent was in the middle of it
      }
      PreparedNamespace now = members.namespace(container);
      List<InetAddress> to = members.addresses(container, now);
      published.putAll(Rules.targets(now.ports(), to));
      ports.relay(container, to);
    }
    firewall.admitAfter(dualStack(), () -> rules.replace(networks.all(), published, stations));
    for (Addresses.Given stray : addresses.strays(connected)) {
      addresses.release(stray);
    }
    PreparedNamespaceStore.sweep(config.namespaces(), known);
  }

  /** With the address that it was given, which must not be given to another while it is used. */
  private PreparedNamespace addressed(PreparedNamespace slot) throws IOException {
    PreparedNamespace known = slot;
    for (Addresses.Given given : addresses.given()) {
      if (given.slot().equals(slot.id())) {
        known = known.withAddress(given.network(), given.ip());
      }
    }
    return known;
  }
}

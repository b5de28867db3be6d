package dev.zlayer.runtime.cni;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.IpText;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.task.KeyedLock;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Which networks each container is on. The first one comes with its namespace; others are added to
 * and removed from it while it runs.
 */
public final class ContainerNetworks {
  private final Map<String, PreparedNamespace> held;
  private final KeyedLock<String> names;
  private final Connections connections;
  private final PreparedNamespaceStore store;
  private final NetworkStore networks;
  private final Cni cni;
  private final Addresses addresses;
  private final Rules rules;
  private final HostPorts ports;
  private final Consumer<String> steps;

  ContainerNetworks(
      Map<String, PreparedNamespace> held,
      KeyedLock<String> names,
      Connections connections,
      PreparedNamespaceStore store,
      NetworkStore networks,
      Cni cni,
      Addresses addresses,
      Rules rules,
      HostPorts ports,
      Consumer<String> steps) {
    this.held = held;
    this.names = names;
    this.connections = connections;
    this.store = store;
    this.networks = networks;
    this.cni = cni;
    this.addresses = addresses;
    this.rules = rules;
    this.ports = ports;
    this.steps = steps;
  }

  /** The addresses of the network it was created on, else of the first one it is connected to. */
  List<InetAddress> addresses(String runtimeName, PreparedNamespace slot) {
    return first(runtimeName, slot).addresses();
  }

  /** Forwards the ports of a container to where it is reached now. */
  void publish(String runtimeName, PreparedNamespace slot) throws InterruptedException {
    List<InetAddress> to = addresses(runtimeName, slot);
    rules.publish(slot.ports(), to);
    ports.relay(runtimeName, to);
  }

  /** Whether a container would have IPv6 addresses where its ports are forwarded to. */
  boolean dualStack(String runtimeName, Optional<NamedNetwork> usual) {
    ConnectionStore.Connected connected = connections.of(runtimeName);
    return (connected.usual() && usual.isPresent()
            ? usual
            : connected.others().stream().findFirst().map(other -> existing(other.network())))
        .flatMap(NamedNetwork::dualStack)
        .isPresent();
  }

  Attachment attachment(String runtimeName, PreparedNamespace slot) {
    PreparedNamespace first = first(runtimeName, slot);
    return new Attachment(slot.netns(), first.ip(), first.ipv6(), first.gateway(), slot.ports());
  }

  private PreparedNamespace first(String runtimeName, PreparedNamespace slot) {
    List<Connection> others = connections.of(runtimeName).others();
    return slot.network().isPresent() || others.isEmpty() ? slot : others.getFirst().made();
  }

  /** One network that a container is on. */
  public record Member(
      String network,
      Optional<InetAddress> ip,
      Optional<InetAddress> gateway,
      Optional<InetAddress> ipv6,
      Optional<InetAddress> gatewayIpv6,
      Optional<String> mac,
      ConnectionSpec asked) {
    static Member of(PreparedNamespace made, ConnectionSpec asked) {
      return new Member(
          made.network().orElseThrow(),
          made.ip(),
          made.gateway(),
          made.ipv6(),
          made.gatewayIpv6(),
          made.mac(),
          asked);
    }

    /** Its further names there. */
    public List<String> aliases() {
      return asked.aliases();
    }

    /** Its addresses of both kinds. */
    public List<InetAddress> addresses() {
      return Stream.concat(ip.stream(), ipv6.stream()).toList();
    }
  }

  /** All networks that a container is on, the one it was created on first. */
  public List<Member> memberships(String runtimeName) {
    PreparedNamespace slot = held.get(runtimeName);
    if (slot == null) {
      return List.of();
    }
    ConnectionStore.Connected connected = connections.of(runtimeName);
    var members = new ArrayList<Member>();
    if (slot.network().isPresent()) {
      members.add(Member.of(slot, ConnectionSpec.of(connected.aliases())));
    }
    connected.others().stream()
        .filter(Connection::finished)
        .forEach(other -> members.add(Member.of(other.made(), other.asked())));
    return List.copyOf(members);
  }

  /** Gives a container further names on the network that it was created on. */
  public void alias(String runtimeName, List<String> aliases) throws InterruptedException {
    try (var _ = names.lock(runtimeName)) {
      ConnectionStore.Connected connected = connections.of(runtimeName);
      connections.save(runtimeName, connected.withUsual(connected.usual(), aliases));
    }
  }

  /** Connects a container, running or not, to one more network. */
  public Member connect(String runtimeName, String network, ConnectionSpec wanted)
      throws InterruptedException {
    NamedNetwork target = existing(network);
    try (var _ = names.lock(runtimeName)) {
      PreparedNamespace slot = namespace(runtimeName);
      if (memberships(runtimeName).stream().anyMatch(one -> one.network().equals(network))) {
        throw new AgentException.Conflict(
            "container '%s' is connected to network '%s' already".formatted(runtimeName, network));
      }
      requireUsable(target, wanted);
      boolean published = !addresses(runtimeName, slot).isEmpty();
      Connection made = connections.connect(runtimeName, slot, target, wanted);
      if (!published) {
        publish(runtimeName, slot);
      }
      return Member.of(made.made(), made.asked());
    }
  }

  private static void requireUsable(NamedNetwork network, ConnectionSpec wanted) {
    for (InetAddress address : wanted.addresses()) {
      if (!network.contains(address)) {
        throw new AgentException.InvalidSpec(
            "address %s is not in subnet %s of network '%s'"
                .formatted(IpText.of(address), network.ranges(), network.name()));
      }
      if (address instanceof Inet6Address && network.dualStack().isEmpty()) {
        throw new AgentException.Unsupported(
            "address %s: containers on this host cannot have IPv6 addresses"
                .formatted(IpText.of(address)));
      }
    }
    // an odd first byte names a group of interfaces, not one
    if (wanted
        .mac()
        .filter(mac -> !mac.matches("[0-9a-f][02468ace](:[0-9a-f]{2}){5}"))
        .isPresent()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not the MAC address of an interface; write one like 02:42:ac:11:00:02"
              .formatted(wanted.mac().get()));
    }
  }

  /** Takes a container off a network; its published ports move to the next one it is on. */
  public void disconnect(String runtimeName, String network) throws InterruptedException {
    try (var _ = names.lock(runtimeName)) {
      PreparedNamespace slot = namespace(runtimeName);
      boolean first = first(runtimeName, slot).network().equals(Optional.of(network));
      if (memberships(runtimeName).stream().noneMatch(one -> one.network().equals(network))) {
        throw new AgentException.NotFound(
            "connection of container '%s' to network '%s'".formatted(runtimeName, network),
            "it is not connected");
      }
      if (first) {
        rules.unpublish(slot.ports());
      }
      if (slot.network().equals(Optional.of(network))) {
        leaveUsual(runtimeName, slot);
      } else {
        connections.remove(runtimeName, connection(runtimeName, network));
      }
      List<Connection> left = connections.of(runtimeName).others();
      PreparedNamespace now = namespace(runtimeName);
      if (first && now.network().isEmpty() && !left.isEmpty()) {
        Connection next = left.getFirst();
        Connection _ = connections.reroute(runtimeName, now, next, existing(next.network()));
        publishAgain(runtimeName, now);
      }
    }
  }

  private void publishAgain(String runtimeName, PreparedNamespace slot) {
    try {
      publish(runtimeName, slot);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // recorded: the next agent writes the rules anew
    }
  }

  private Connection connection(String runtimeName, String network) {
    return connections.of(runtimeName).others().stream()
        .filter(other -> other.network().equals(network))
        .findFirst()
        .orElseThrow();
  }

  /** Removes the interface that the namespace was made with; the namespace stays. */
  void leaveUsual(String runtimeName, PreparedNamespace slot) throws InterruptedException {
    connections.save(runtimeName, connections.of(runtimeName).withUsual(false, List.of()));
    steps.accept("disconnection recorded");
    removeCable(slot);
    PreparedNamespace bare = slot.withoutNetwork();
    store.update(bare, runtimeName);
    held.put(runtimeName, bare);
  }

  private void removeCable(PreparedNamespace slot) throws InterruptedException {
    try {
      if (slot.hostLink().isPresent()) {
        Links.delete(slot.hostLink().get());
        rules.unbind(slot.hostLink().get());
      }
      if (!addresses.release(slot)) {
        cni.delete(slot.target(), slot.chain(), slot.result());
      }
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot remove the interface of %s: %s".formatted(slot.id(), e.getMessage()), e);
    }
  }

  PreparedNamespace namespace(String runtimeName) {
    PreparedNamespace slot = held.get(runtimeName);
    if (slot == null) {
      throw new AgentException.InvalidSpec(
          "container '%s' has no network namespace of its own: create it on a bridge network"
              .formatted(runtimeName));
    }
    return slot;
  }

  /** The network of that name, if there is one. */
  public Optional<NamedNetwork> network(String name) {
    return networks.find(name);
  }

  NamedNetwork existing(String name) {
    return network(name)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "network '" + name + "'", "'zlayer network ls' shows those there are"));
  }

  /** Who is meant by a name that only the container with an address has for others. */
  public List<Linked> linked(InetAddress address, String alias) {
    return held.keySet().stream()
        .map(this::memberships)
        .filter(members -> members.stream().anyMatch(one -> one.addresses().contains(address)))
        .flatMap(List::stream)
        .flatMap(
            member ->
                member.asked().links().stream()
                    .filter(link -> link.alias().equalsIgnoreCase(alias))
                    .map(link -> new Linked(member.network(), link.container())))
        .toList();
  }

  /** A container of a network that another one links to, by its name or id. */
  public record Linked(String network, String container) {}

  /** Whether an address is in an internal network, and its container, if any, on no other one. */
  public boolean enclosed(InetAddress address) {
    return networks.all().stream()
            .anyMatch(network -> network.options().internal() && network.contains(address))
        && networksOf(address).stream()
            .allMatch(
                name ->
                    networks.find(name).filter(found -> found.options().internal()).isPresent());
  }

  /** The networks of the container that has an address, that of the address first. */
  public List<String> networksOf(InetAddress address) {
    return held.keySet().stream()
        .map(this::memberships)
        .filter(members -> members.stream().anyMatch(one -> one.addresses().contains(address)))
        .findFirst()
        .map(members -> members.stream().map(Member::network).toList())
        .orElse(List.of());
  }
}

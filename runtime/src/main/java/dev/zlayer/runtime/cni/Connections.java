package dev.zlayer.runtime.cni;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.IpText;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.cni.ConnectionStore.Connected;
import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Further interfaces of containers. Each is recorded before it is made and forgotten after it was
 * removed. Callers hold the lock of the container.
 */
final class Connections {
  private final NetworkConfig config;
  private final Cni cni;
  private final Addresses addresses;
  private final Rules rules;
  private final Consumer<String> steps;
  private final ConnectionStore store;
  private final Map<String, Connected> all;
  private final SecureRandom random = new SecureRandom();

  Connections(
      NetworkConfig config, Cni cni, Addresses addresses, Rules rules, Consumer<String> steps)
      throws IOException {
    this.config = config;
    this.cni = cni;
    this.addresses = addresses;
    this.rules = rules;
    this.steps = steps;
    this.store = ConnectionStore.open(config);
    this.all = new ConcurrentHashMap<>(store.load());
  }

  Connected of(String container) {
    return all.getOrDefault(container, Connected.NONE);
  }

  /** Containers with an interface of this kind on a network. */
  List<String> users(String network) {
    return all.entrySet().stream()
        .filter(
            entry ->
                entry.getValue().others().stream()
                    .anyMatch(other -> other.network().equals(network)))
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Under which names the plugins know all of them. */
  Set<String> ids() {
    var ids = new HashSet<String>();
    all.values()
        .forEach(connected -> connected.others().forEach(other -> ids.add(other.made().id())));
    return ids;
  }

  /** What plugins may still be at work for: an earlier agent did not see their end. */
  Set<String> unfinished() {
    var ids = new HashSet<String>();
    all.values()
        .forEach(
            connected ->
                connected.others().stream()
                    .filter(other -> !other.finished())
                    .forEach(other -> ids.add(other.made().id())));
    return ids;
  }

  /** What an earlier agent connected; what it left half made is undone. */
  void recover(Map<String, PreparedNamespace> held, Map<String, Station> stations, Set<String> ids)
      throws InterruptedException {
    for (String container : List.copyOf(all.keySet())) {
      PreparedNamespace slot = held.get(container);
      for (Connection other : of(container).others()) {
        boolean here =
            slot != null
                && slot.netns().equals(other.made().netns())
                && Namespaces.alive(slot.netns());
        if (here && other.finished()) {
          ids.add(other.made().id());
          other
              .made()
              .hostLink()
              .ifPresent(
                  link -> other.made().station().ifPresent(station -> stations.put(link, station)));
        } else if (here) {
          remove(container, other);
        }
        // else the namespace ended with the machine, and the start of the container connects again
      }
    }
  }

  /** Makes an interface in a namespace. */
  Connection connect(
      String container, PreparedNamespace slot, NamedNetwork network, ConnectionSpec asked)
      throws InterruptedException {
    Connected before = of(container);
    boolean outward = slot.network().isEmpty() && before.others().isEmpty();
    return make(container, slot, network, asked, asked.addresses(), outward);
  }

  private Connection make(
      String container,
      PreparedNamespace slot,
      NamedNetwork network,
      ConnectionSpec asked,
      List<InetAddress> fixed,
      boolean outward)
      throws InterruptedException {
    var bytes = new byte[8];
    random.nextBytes(bytes);
    var cable =
        new PreparedNamespace(
            config.prefix() + "-" + HexFormat.of().formatHex(bytes),
            Optional.of(network.name()),
            slot.netns(),
            network.chain(config.addresses(), config.firewall(), outward, fixed, asked.mac()),
            Json.Null.INSTANCE,
            List.of());
    var planned = new Connection(cable, freeInterface(container, slot), asked);
    save(container, of(container).with(planned));
    steps.accept("connection recorded");
    try {
      Json result = cni.add(planned.target(), cable.chain());
      steps.accept("connection added");
      Connection made = planned.with(cable.withResult(result));
      Links.routeLoopback(network.bridge());
      Links.refuseRouters(network.bridge());
      if (made.made().hostLink().isPresent() && made.made().station().isPresent()) {
        rules.bind(Map.of(made.made().hostLink().get(), made.made().station().get()));
      }
      save(container, of(container).with(made));
      steps.accept("connection made");
      return made;
    } catch (AgentException | IOException e) {
      remove(container, planned);
      throw e instanceof AgentException own
          ? explained(own, network, asked.addresses())
          : new AgentException.Network(
              "cannot connect to network '%s': %s".formatted(network.name(), e.getMessage()), e);
    }
  }

  private static AgentException explained(
      AgentException failure, NamedNetwork network, List<InetAddress> fixed) {
    boolean taken =
        !fixed.isEmpty()
            && String.valueOf(failure.getMessage()).matches("(?s).*(not available|requested IP).*");
    return taken
        ? new AgentException.Conflict(
            "address %s is in use on network '%s'"
                .formatted(
                    fixed.stream().map(IpText::of).collect(Collectors.joining(" or ")),
                    network.name()))
        : failure;
  }

  private String freeInterface(String container, PreparedNamespace slot) {
    var taken = new HashSet<String>();
    of(container).others().forEach(other -> taken.add(other.interfaceName()));
    return IntStream.range(slot.network().isPresent() ? 1 : 0, 1_000)
        .mapToObj(number -> "eth" + number)
        .filter(name -> !taken.contains(name))
        .findFirst()
        .orElseThrow();
  }

  /** Removes an interface; what does not exist any more is fine. */
  void remove(String container, Connection connection) throws InterruptedException {
    // whoever finds it like this removes it, too
    Connection leaving = connection.with(connection.made().withResult(Json.Null.INSTANCE));
    save(container, of(container).with(leaving));
    try {
      PreparedNamespace made = connection.made();
      if (made.hostLink().isPresent()) {
        Links.delete(made.hostLink().get());
        rules.unbind(made.hostLink().get());
      }
      if (!addresses.release(made)) {
        boolean alive = Namespaces.alive(made.netns());
        cni.delete(
            alive ? connection.target() : connection.target().withoutNamespace(),
            made.chain(),
            made.result());
      }
    } catch (IOException e) {
      throw new AgentException.Network(
          "cannot disconnect from network '%s': %s".formatted(connection.network(), e.getMessage()),
          e);
    }
    steps.accept("connection removed");
    save(container, of(container).without(connection.network()));
  }

  /** Removes all of a container that goes away. */
  void removeAll(String container) throws InterruptedException {
    for (Connection other : of(container).others()) {
      remove(container, other);
    }
    save(container, Connected.NONE);
  }

  /** Makes all interfaces of a container anew, in a namespace that has none of them. */
  void renew(String container, PreparedNamespace slot, Function<String, NamedNetwork> networks)
      throws InterruptedException {
    Connected wanted = of(container);
    boolean outward = slot.network().isEmpty();
    for (Connection other : wanted.others()) {
      save(container, of(container).without(other.network()));
      make(
          container,
          slot,
          networks.apply(other.network()),
          other.asked(),
          other.asked().addresses(),
          outward);
      outward = false;
    }
  }

  /** Makes one the way to the outside, with the addresses that it has. */
  Connection reroute(
      String container, PreparedNamespace slot, Connection other, NamedNetwork network)
      throws InterruptedException {
    List<InetAddress> fixed = other.made().addresses();
    remove(container, other);
    return make(container, slot, network, other.asked(), fixed, true);
  }

  void save(String container, Connected connected) {
    store.save(container, connected);
    if (connected.equals(Connected.NONE)) {
      all.remove(container);
    } else {
      all.put(container, connected);
    }
  }
}

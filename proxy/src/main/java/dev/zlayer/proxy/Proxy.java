package dev.zlayer.proxy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Conntrack;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.dns.NameServerLoop;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The doors of all services and the name server of all deployments.
 *
 * <p>Doors are rules of the kernel wherever it can lead, so they go on while there is no agent, and
 * the next one begins with what the last one said. A change is one transaction: a new connection
 * meets the members before it or those after it, never none.
 */
public final class Proxy implements Rotation, DeploymentNames, AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Proxy.class.getName());
  private static final Duration LOOK_AGAIN = Duration.ofMillis(100);
  private static final String ALL = "all";

  private final ProxyConfig config;
  private final Pauses pauses;
  private final DoorTable table;
  private final PacketFilter filter;
  private final NameServerLoop names;
  private final HeldPorts held = new HeldPorts();
  private final KeyedLock<String> lock = new KeyedLock<>();

  /** The rest is changed under the lock. */
  private volatile Map<Door.Key, Door> doors = new LinkedHashMap<>();

  private final Map<Door.Key, RelayLoop> relays = new ConcurrentHashMap<>();
  private final Map<ServiceKey, Members> services = new ConcurrentHashMap<>();
  private final Map<String, Range> ranges = new TreeMap<>();

  private Proxy(ProxyConfig config, Pauses pauses, NameServerLoop names) {
    this.config = config;
    this.pauses = pauses;
    this.table = new DoorTable(config.table());
    this.filter = new PacketFilter(config);
    this.names = names;
  }

  /** Begins with what the agent before left, and repairs the rules if somebody changed them. */
  public static Proxy open(ProxyConfig config, Pauses pauses) throws InterruptedException {
    DoorState before = DoorState.load(config.stateFile());
    NameServerLoop names;
    try {
      names = NameServerLoop.open(before.namePort(), config.resolvConf());
    } catch (IOException e) {
      throw new AgentException.Network("cannot answer names: " + e.getMessage(), e);
    }
    var proxy = new Proxy(config, pauses, names);
    try {
      proxy.adopt(before);
    } catch (RuntimeException | InterruptedException e) {
      proxy.close();
      throw e;
    }
    return proxy;
  }

  @Override
  public void update(Members service) throws InterruptedException {
    DoorPlan plan = DoorPlan.of(service, config.bridged());
    var problems = new ArrayList<>(plan.problems());
    try (var _ = lock.lock(ALL)) {
      Set<InetAddress> before = led(service.service());
      services.put(service.service(), service);
      names.service(service);
      var wanted = without(service.service());
      for (Door door : plan.doors()) {
        Optional<String> problem = occupied(door, wanted).or(() -> take(door));
        if (problem.isEmpty()) {
          wanted.put(door.key(), door);
        } else if (!DoorPlan.optional(door, service.loopback())) {
          problems.add("endpoint '%s': %s".formatted(door.endpoint(), problem.get()));
        }
      }
      apply(wanted);
      forget(before, service.service());
    }
    if (!problems.isEmpty()) {
      throw new AgentException.Configuration(
          "%s: %s".formatted(service.service(), String.join("; ", problems)));
    }
  }

  @Override
  public void drain(ContainerId member, Deadline deadline) throws InterruptedException {
    Members service = services.get(new ServiceKey(member.deployment(), member.service()));
    Optional<InetAddress> address =
        service == null
            ? Optional.empty()
            : service.members().stream()
                .filter(one -> one.id().equals(member))
                .map(Member::address)
                .findFirst();
    while (address.isPresent() && !deadline.passed() && connected(address.get())) {
      pauses.pause(deadline.atMost(LOOK_AGAIN).left());
    }
  }

  @Override
  public void remove(ServiceKey service) throws InterruptedException {
    try (var _ = lock.lock(ALL)) {
      Set<InetAddress> before = led(service);
      services.remove(service);
      names.remove(service);
      apply(without(service));
      forget(before, service);
    }
  }

  /** Closes the doors of services that are none of these: those of an agent that ended badly. */
  public void retain(Collection<ServiceKey> known) throws InterruptedException {
    try (var _ = lock.lock(ALL)) {
      Set<ServiceKey> gone =
          doors.values().stream().map(Door::service).collect(Collectors.toCollection(HashSet::new));
      gone.removeAll(known);
      for (ServiceKey service : gone) {
        Set<InetAddress> before = led(service);
        apply(without(service));
        forget(before, service);
      }
    }
  }

  @Override
  public void open(String deployment, Range range) throws InterruptedException {
    try (var _ = lock.lock(ALL)) {
      if (!range.equals(ranges.get(deployment))) {
        var old = List.copyOf(ranges.values());
        ranges.put(deployment, range);
        names.range(deployment, range);
        renew(old);
      }
    }
  }

  @Override
  public void close(String deployment) throws InterruptedException {
    try (var _ = lock.lock(ALL)) {
      var old = List.copyOf(ranges.values());
      if (ranges.remove(deployment) != null) {
        names.forget(deployment);
        renew(old);
      }
    }
  }

  /** What is open, for people: where, to whom, how many members. */
  public List<String> describe() {
    return doors.values().stream()
        .map(
            door ->
                "%s -> %s:%d (%s, %d members)"
                    .formatted(
                        door.key(),
                        door.service(),
                        door.targetPort(),
                        door.way().name().toLowerCase(java.util.Locale.ROOT),
                        door.members().size()))
        .toList();
  }

  /** Leaves the rules to the kernel; only what the agent itself relays ends. */
  @Override
  public void close() throws InterruptedException {
    names.close();
    for (RelayLoop relay : relays.values()) {
      relay.close();
    }
    held.close();
  }

  /** Takes away everything, rules too. */
  public void destroy() throws InterruptedException {
    close();
    filter.run(table.delete());
    try {
      java.nio.file.Files.deleteIfExists(config.stateFile());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot delete %s: %s".formatted(config.stateFile(), e.getMessage()), e);
    }
  }

  private void adopt(DoorState before) throws InterruptedException {
    try (var _ = lock.lock(ALL)) {
      for (Door door : before.doors()) {
        if (door.way() != Door.Way.RELAY) {
          if (door.way() != Door.Way.DIRECT && !held.hold(door.key())) {
            LOG.log(System.Logger.Level.WARNING, "{0} is used by another program", door.key());
          }
          doors.put(door.key(), door);
        }
      }
      ranges.putAll(before.ranges());
      ranges.forEach(names::range);
      save();
      filter.run(table.whole(doors.values(), ranges.values(), names.port()));
    }
  }

  private Map<Door.Key, Door> without(ServiceKey service) {
    var rest = new LinkedHashMap<>(doors);
    rest.values().removeIf(door -> door.service().equals(service));
    return rest;
  }

  /** Where connections of the service may lead, also by what an agent before told the kernel. */
  private Set<InetAddress> led(ServiceKey service) {
    var addresses = new HashSet<InetAddress>();
    doors.values().stream()
        .filter(door -> door.service().equals(service))
        .forEach(door -> addresses.addAll(door.members()));
    Optional.ofNullable(services.get(service))
        .ifPresent(known -> known.members().forEach(one -> addresses.add(one.address())));
    return addresses;
  }

  private void forget(Set<InetAddress> before, ServiceKey service) throws InterruptedException {
    var gone = new HashSet<>(before);
    gone.removeAll(led(service));
    Stale.forget(gone);
  }

  private static Optional<String> occupied(Door door, Map<Door.Key, Door> others) {
    return others.values().stream()
        .filter(other -> other.key().collides(door.key()))
        .filter(other -> !other.service().equals(door.service()))
        .map(other -> "port %d belongs to %s".formatted(door.key().port(), other.service()))
        .findFirst();
  }

  /** Makes sure that the port is ours; tells why not. */
  private Optional<String> take(Door door) {
    Door before = doors.get(door.key());
    if (before != null
        && (before.way() != door.way() || before.targetPort() != door.targetPort())) {
      release(before);
    }
    boolean ours =
        switch (door.way()) {
          case KERNEL, REDIRECT -> held.hold(door.key());
          case RELAY -> relay(door);
          case DIRECT -> true;
        };
    return ours
        ? Optional.empty()
        : Optional.of("port %d is used by another program".formatted(door.key().port()));
  }

  private boolean relay(Door door) {
    try {
      RelayLoop relay = relays.get(door.key());
      if (relay == null) {
        relay = RelayLoop.open(HeldPorts.address(door.key()), door.targetPort());
        relays.put(door.key(), relay);
      }
      relay.members(door.members());
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private void release(Door door) {
    held.release(door.key());
    RelayLoop relay = relays.remove(door.key());
    if (relay != null) {
      try {
        relay.close();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void apply(Map<Door.Key, Door> wanted) throws InterruptedException {
    Map<Door.Key, Door> before = doors;
    if (wanted.equals(before)) {
      return;
    }
    doors = wanted;
    save();
    if (!filter.tried(table.change(before, wanted))) {
      filter.run(table.whole(wanted.values(), ranges.values(), names.port()));
    }
    before.values().stream().filter(door -> !wanted.containsKey(door.key())).forEach(this::release);
  }

  private void renew(List<Range> old) throws InterruptedException {
    save();
    if (!filter.tried(table.names(ranges.values(), old, names.port()))) {
      filter.run(table.whole(doors.values(), ranges.values(), names.port()));
    }
  }

  private void save() {
    DoorState.of(doors.values(), ranges, names.port()).save(config.stateFile());
  }

  /** What the kernel does not tell is taken for connected: the caller's patience decides. */
  private boolean connected(InetAddress member) {
    if (relays.values().stream().anyMatch(relay -> relay.connections(member) > 0)) {
      return true;
    }
    if (!config.bridged().test(member)) {
      return false;
    }
    try {
      return Conntrack.connections(member).orElse(1) > 0;
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "connections cannot be counted", e);
      return true;
    }
  }
}

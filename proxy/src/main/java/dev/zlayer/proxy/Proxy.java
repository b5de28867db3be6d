package dev.zlayer.proxy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Conntrack;
import dev.zlayer.host.linux.PortOwner;
import dev.zlayer.host.net.ConntrackFlush;
import dev.zlayer.host.net.Relay;
import dev.zlayer.host.net.RuleCount;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.dns.NameServer;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The endpoints of all services and the name server of all deployments.
 *
 * <p>Endpoints are rules of the kernel wherever it can forward, so they keep working while there is
 * no agent, and the next agent starts with what the last one stored. A change is one transaction: a
 * new connection meets the members before it or those after it, never none.
 *
 * <p>A change is stored, applied, and only then taken for current. One that failed leaves its
 * service unsettled: the next call about it applies everything again. Services are changed
 * independently of each other; only the call of nft is one at a time.
 */
public final class Proxy implements Rotation, DeploymentNames, AutoCloseable {
  private static final System.Logger LOG = LazyLogger.of(Proxy.class);
  private static final Duration POLL = Duration.ofMillis(100);
  private static final String FILTER = "filter";

  private final ProxyConfig config;
  private final Pauses pauses;
  private final EndpointTable table;
  private final EndpointStore store;
  private final PacketFilter filter;
  private final NameServer names;
  private final PortReservations reservations;
  private final Map<Endpoint.Key, Relay> relays = new ConcurrentHashMap<>();
  private final Map<Endpoint.Port, ServiceKey> owners = new ConcurrentHashMap<>();

  /** An entry is changed by who holds the lock of its service. */
  private final Map<ServiceKey, Published> services = new ConcurrentHashMap<>();

  private final KeyedLock<ServiceKey> serviceLock = new KeyedLock<>();

  /** What the kernel has; changed under the lock, like the table. */
  private final Map<ServiceKey, Map<Endpoint.Key, Endpoint>> applied = new ConcurrentHashMap<>();

  /** Whether the kernel has our table for IPv6; changed under the lock. */
  private boolean ipv6;

  private final Map<String, Range> ranges = new ConcurrentHashMap<>();
  private final KeyedLock<String> filterLock = new KeyedLock<>();

  private Proxy(ProxyConfig config, Pauses pauses, NameServer names, PacketFilter filter) {
    this.config = config;
    this.pauses = pauses;
    this.table = new EndpointTable(config.table(), Files.exists(Path.of("/proc/sys/net/ipv6")));
    this.reservations = new PortReservations(config.bridges());
    this.store = new EndpointStore(config.stateDirectory());
    this.filter = filter;
    this.names = names;
  }

  /** Starts with what the agent before stored, and repairs the rules if somebody changed them. */
  public static Proxy open(ProxyConfig config, Pauses pauses) throws InterruptedException {
    boolean former = Files.exists(config.formerState());
    EndpointStore.State stored = new EndpointStore(config.stateDirectory()).load();
    EndpointStore.State before = former ? EndpointStore.former(config.formerState()) : stored;
    PacketFilter filter = PacketFilter.open(config);
    NameServer names;
    try {
      names = NameServer.open(before.namePort(), config.resolvConf());
    } catch (IOException e) {
      filter.close();
      throw new AgentException.Network("cannot start the name server: " + e.getMessage(), e);
    }
    var proxy = new Proxy(config, pauses, names, filter);
    try {
      proxy.adopt(before);
      if (former) {
        proxy.migrate(before);
      }
    } catch (RuntimeException | InterruptedException e) {
      proxy.close();
      throw e;
    }
    return proxy;
  }

  @Override
  public void update(Members service) throws InterruptedException {
    ServiceKey key = service.service();
    EndpointPlan plan = EndpointPlan.of(service, config.bridged());
    var problems = new ArrayList<>(plan.problems());
    try (var _ = serviceLock.lock(key)) {
      Published before = services.getOrDefault(key, Published.NONE);
      names.service(service);
      var wanted = new LinkedHashMap<Endpoint.Key, Endpoint>();
      for (Endpoint endpoint : plan.endpoints()) {
        Optional<String> problem = claim(endpoint, before);
        if (problem.isEmpty()) {
          wanted.put(endpoint.key(), endpoint);
        } else if (!EndpointPlan.optional(endpoint, service.loopback())) {
          problems.add("endpoint '%s': %s".formatted(endpoint.name(), problem.get()));
        }
      }
      apply(key, before, new Published(Optional.of(service), wanted));
    }
    if (!problems.isEmpty()) {
      throw new AgentException.Configuration("%s: %s".formatted(key, String.join("; ", problems)));
    }
  }

  @Override
  public Optional<List<InetAddress>> find(String deployment, String name) {
    return names.find(deployment, name);
  }

  @Override
  public void drain(ContainerId member, Deadline deadline) throws InterruptedException {
    var key = new ServiceKey(member.deployment(), member.service());
    Optional<Member> leaving =
        services.getOrDefault(key, Published.NONE).members().stream()
            .flatMap(known -> known.members().stream())
            .filter(one -> one.id().equals(member))
            .findFirst();
    while (leaving.isPresent() && !deadline.passed() && connected(leaving.get())) {
      pauses.pause(deadline.atMost(POLL).left());
    }
  }

  @Override
  public void remove(ServiceKey service) throws InterruptedException {
    try (var _ = serviceLock.lock(service)) {
      names.remove(service);
      Published before = services.get(service);
      if (before != null) {
        apply(service, before, Published.NONE);
        services.remove(service);
      }
    }
  }

  /** Removes the endpoints of services that are none of these: those of an agent that crashed. */
  public void retain(Collection<ServiceKey> known) throws InterruptedException {
    var others = new HashSet<>(services.keySet());
    others.removeAll(new HashSet<>(known));
    for (ServiceKey service : others) {
      remove(service);
    }
  }

  @Override
  public void open(String deployment, Range range) throws InterruptedException {
    if (range.equals(ranges.get(deployment))) {
      return;
    }
    try (var _ = filterLock.lock(FILTER)) {
      Range old = ranges.get(deployment);
      if (range.equals(old)) {
        return;
      }
      store.save(deployment, range);
      ranges.remove(deployment); // a failure leaves it to be applied again
      String change = (old == null ? "" : table.delete(old)) + table.add(range);
      if (!filter.tried(change)) {
        var all = new ArrayList<>(ranges.values());
        all.add(range);
        filter.run(table.whole(endpoints(applied.values()), all, names.port(), ipv6));
      }
      ranges.put(deployment, range);
      names.range(deployment, range);
    }
  }

  @Override
  public void close(String deployment) throws InterruptedException {
    try (var _ = filterLock.lock(FILTER)) {
      Range old = ranges.get(deployment);
      if (old != null) {
        store.remove(deployment);
        if (!filter.tried(table.delete(old))) {
          var rest = new LinkedHashMap<>(ranges);
          rest.remove(deployment);
          filter.run(table.whole(endpoints(applied.values()), rest.values(), names.port(), ipv6));
        }
        ranges.remove(deployment);
        names.forget(deployment);
      }
    }
  }

  /** Writes the rules anew when somebody removed some of them. */
  public void restoreRules() throws InterruptedException {
    try (var _ = filterLock.lock(FILTER)) {
      String wanted = table.whole(endpoints(applied.values()), ranges.values(), names.port(), ipv6);
      if (!RuleCount.of(wanted).present(config.nft(), Deadline.after(config.toolLimit()))) {
        filter.run(wanted);
        LOG.log(
            System.Logger.Level.WARNING,
            "somebody removed rules of table {0} of nftables; they are written anew",
            config.table());
      }
    }
  }

  /** Who knows the containers without a deployment, whose names are served on named networks. */
  public void containers(Containers containers) {
    names.containers(containers);
  }

  /** What is forwarded, for people: from where, to whom, how many members. */
  public List<String> describe() {
    return endpoints(applied.values()).stream()
        .map(
            endpoint ->
                "%s -> %s:%d (%s, %d members)"
                    .formatted(
                        endpoint.key(),
                        endpoint.service(),
                        endpoint.targetPort(),
                        endpoint.forwarding().name().toLowerCase(Locale.ROOT),
                        endpoint.members(false).size()))
        .sorted()
        .toList();
  }

  /** Leaves the rules to the kernel; only what the agent itself relays ends. */
  @Override
  public void close() throws InterruptedException {
    names.close();
    for (Relay relay : relays.values()) {
      relay.close();
    }
    reservations.close();
    filter.close();
  }

  /** Removes everything, the rules too. */
  public void destroy() throws InterruptedException {
    close();
    filter.run(table.delete());
    store.destroy();
    EndpointStore.delete(config.formerState());
  }

  private void adopt(EndpointStore.State before) throws InterruptedException {
    try (var _ = filterLock.lock(FILTER)) {
      store.save(names.port());
      for (Endpoint endpoint : before.endpoints()) {
        if (endpoint.forwarding() != Endpoint.Forwarding.RELAY) {
          if (endpoint.ruled() && !reservations.reserve(endpoint)) {
            LOG.log(
                System.Logger.Level.WARNING,
                "port {0} of {1} is in use by {2}",
                endpoint.key(),
                endpoint.service(),
                holder(endpoint.key()));
          }
          owners.put(endpoint.key().number(), endpoint.service());
          applied
              .computeIfAbsent(endpoint.service(), _ -> new LinkedHashMap<>())
              .put(endpoint.key(), endpoint);
        }
      }
      applied.forEach(
          (service, endpoints) ->
              services.put(service, new Published(Optional.empty(), Map.copyOf(endpoints))));
      ranges.putAll(before.ranges());
      ranges.forEach(names::range);
      ipv6 = applied.values().stream().anyMatch(Proxy::hasIpv6);
      filter.run(
          EndpointTable.delete("ip", config.formerTable())
              + table.whole(endpoints(applied.values()), ranges.values(), names.port(), ipv6));
    }
  }

  /** The old file is deleted last: until then the next agent begins anew. */
  private void migrate(EndpointStore.State before) {
    applied.forEach((service, endpoints) -> store.save(service, endpoints.values()));
    before.ranges().forEach(store::save);
    EndpointStore.delete(config.formerState());
  }

  /** Makes sure that the port is ours; says why not. */
  private Optional<String> claim(Endpoint endpoint, Published before) {
    ServiceKey owner = owners.putIfAbsent(endpoint.key().number(), endpoint.service());
    if (owner != null && !owner.equals(endpoint.service())) {
      return Optional.of(
          "port %d is already in use by %s; choose another port"
              .formatted(endpoint.key().port(), owner));
    }
    Endpoint old = before.endpoints().get(endpoint.key());
    if (old != null
        && (old.forwarding() != endpoint.forwarding()
            || old.targetPort() != endpoint.targetPort())) {
      close(old.key());
    }
    boolean ours =
        switch (endpoint.forwarding()) {
          case KERNEL, REDIRECT -> reservations.reserve(endpoint);
          case RELAY -> relay(endpoint);
          case DIRECT -> true;
        };
    if (ours) {
      return Optional.empty();
    }
    if (owner == null) {
      owners.remove(endpoint.key().number());
    }
    return Optional.of(
        "port %d is already in use by %s; stop it or choose another port"
            .formatted(endpoint.key().port(), holder(endpoint.key())));
  }

  private String holder(Endpoint.Key key) {
    return config
        .publishers()
        .find(key.protocol(), key.port())
        .or(() -> PortOwner.find(key.protocol(), key.port()).map(PortOwner.Owner::toString))
        .orElse("another program");
  }

  private boolean relay(Endpoint endpoint) {
    try {
      Relay relay = relays.get(endpoint.key());
      if (relay == null) {
        relay = Relay.open(PortReservations.address(endpoint.key()), endpoint.targetPort());
        relays.put(endpoint.key(), relay);
      }
      relay.members(endpoint.members(false));
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private void release(Endpoint endpoint) {
    close(endpoint.key());
    owners.remove(endpoint.key().number(), endpoint.service());
  }

  private void close(Endpoint.Key key) {
    reservations.release(key);
    Relay relay = relays.remove(key);
    if (relay != null) {
      try {
        relay.close();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Called with the lock of the service. */
  private void apply(ServiceKey service, Published before, Published after)
      throws InterruptedException {
    boolean done = false;
    try {
      if (!before.settled() || !before.endpoints().equals(after.endpoints())) {
        store.save(service, after.endpoints().values());
        write(service, after.endpoints(), before.settled());
      }
      services.put(service, after);
      done = true;
    } finally {
      if (!done) {
        services.put(service, before.failed(after));
        after.without(before).forEach(this::release);
        own(before.endpoints().keySet(), service);
      }
    }
    before.without(after).forEach(this::release);
    own(after.endpoints().keySet(), service);
    flush(before, after);
  }

  /** A port that keeps one of two endpoints keeps its owner. */
  private void own(Collection<Endpoint.Key> keys, ServiceKey service) {
    keys.forEach(key -> owners.put(key.number(), service));
  }

  /** After a failure it is unknown what the kernel has: the whole table is written. */
  private void write(ServiceKey service, Map<Endpoint.Key, Endpoint> wanted, boolean settled)
      throws InterruptedException {
    try (var _ = filterLock.lock(FILTER)) {
      Map<Endpoint.Key, Endpoint> before = applied.getOrDefault(service, Map.of());
      boolean first = !ipv6 && hasIpv6(wanted);
      if (!settled || first || !filter.tried(table.change(before, wanted, ipv6))) {
        var all = new LinkedHashMap<>(applied);
        all.put(service, wanted);
        filter.run(
            table.whole(endpoints(all.values()), ranges.values(), names.port(), ipv6 || first));
        ipv6 |= first;
      }
      if (wanted.isEmpty()) {
        applied.remove(service);
      } else {
        applied.put(service, wanted);
      }
    }
  }

  /**
   * New connections follow the rules by now. Connections of members that left are dropped;
   * datagrams also when the member is only not ready any more, since they never end.
   */
  private static void flush(Published before, Published after) throws InterruptedException {
    var left = new HashSet<>(before.addresses());
    left.removeAll(after.addresses());
    ConntrackFlush.servers(left);
    for (Endpoint endpoint : after.endpoints().values()) {
      if (endpoint.datagrams() && !endpoint.equals(before.endpoints().get(endpoint.key()))) {
        ConntrackFlush.datagrams(Optional.empty(), endpoint.key().port(), endpoint.members());
      }
    }
  }

  private static boolean hasIpv6(Map<Endpoint.Key, Endpoint> endpoints) {
    return endpoints.values().stream().anyMatch(endpoint -> !endpoint.members(true).isEmpty());
  }

  private static List<Endpoint> endpoints(Collection<Map<Endpoint.Key, Endpoint>> services) {
    return services.stream().flatMap(one -> one.values().stream()).toList();
  }

  /** What the kernel does not report counts as connected: the deadline decides. */
  private boolean connected(Member member) {
    for (InetAddress address : member.addresses()) {
      if (relays.values().stream().anyMatch(relay -> relay.connections(address) > 0)
          || reservations.connected(address)) {
        return true;
      }
    }
    if (!config.bridged().test(member.address())) {
      return false;
    }
    try {
      for (InetAddress address : member.addresses()) {
        if (Conntrack.connections(address).orElse(1) > 0) {
          return true;
        }
      }
      return false;
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "connections cannot be counted", e);
      return true;
    }
  }
}

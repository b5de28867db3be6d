package dev.zlayer.proxy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Adds the members of services that other nodes of a cluster have to those of this node, so that
 * whoever forwards connections or answers names sees one list of members.
 *
 * <p>What other nodes have is stored: the next agent begins with it, also while the cluster cannot
 * be reached.
 */
public final class RemoteMembers implements Rotation {
  private static final System.Logger LOG = LazyLogger.of(RemoteMembers.class);
  private static final String SERVICES = "services";
  static final StoredFormat FORMAT = StoredFormat.of("the members on other nodes");

  /** So long others may still send new connections to a member that is not ready any more. */
  private static final Duration LAG = Duration.ofMillis(1500);

  private static final Duration AGAIN = Duration.ofSeconds(5);

  private final Rotation next;
  private final Path file;
  private final Pauses pauses;
  private final KeyedLock<ServiceKey> lock = new KeyedLock<>();

  /** What the engine of this node said last. */
  private final Map<ServiceKey, Members> local = new ConcurrentHashMap<>();

  /** Services of this node about which its engine has said nothing yet. */
  private final Set<ServiceKey> awaited = ConcurrentHashMap.newKeySet();

  private volatile Map<ServiceKey, Members> remote;

  /** Touched by {@link #remote} alone, which has one caller. */
  private final Map<ServiceKey, String> failed = new TreeMap<>();

  private Deadline nextTry = Deadline.after(Duration.ZERO);

  private RemoteMembers(Rotation next, Path file, Pauses pauses, Map<ServiceKey, Members> remote) {
    this.next = next;
    this.file = file;
    this.pauses = pauses;
    this.remote = remote;
  }

  /**
   * Begins with what was stored.
   *
   * @param next gets the members of all nodes
   * @param file of what other nodes have; there only while this node is in a cluster
   */
  public static RemoteMembers open(Rotation next, Path file, Pauses pauses) {
    var known = new TreeMap<ServiceKey, Members>();
    try {
      if (Files.exists(file)) {
        Json json = FORMAT.upgrade(JsonText.parse(Files.readAllBytes(file)), file);
        for (Json one : json.at(SERVICES).items()) {
          Members members = RecordJson.read(one, Members.class);
          known.put(members.service(), members);
        }
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING,
          "ignored unreadable %s, the cluster says it again: %s".formatted(file, e.getMessage()));
    }
    return new RemoteMembers(next, file, pauses, Map.copyOf(known));
  }

  /**
   * Serves what other nodes have, once it is known which services this node has itself: about these
   * its engine speaks first, as members that it has must not be left out meanwhile.
   *
   * @return all services that are served
   */
  public Set<ServiceKey> begin(Collection<ServiceKey> own) throws InterruptedException {
    for (ServiceKey service : own) {
      if (!local.containsKey(service)) {
        awaited.add(service);
        if (local.containsKey(service)) {
          awaited.remove(service); // it spoke meanwhile
        }
      }
    }
    Map<ServiceKey, Members> others = remote;
    for (ServiceKey service : others.keySet()) {
      var _ = tried(service);
    }
    var all = new TreeSet<>(own);
    all.addAll(others.keySet());
    return all;
  }

  /** The members of this node, as its engine said last; empty when it has said nothing yet. */
  public Optional<List<Member>> local(ServiceKey service) {
    return Optional.ofNullable(local.get(service)).map(Members::members);
  }

  /**
   * Replaces what other nodes have. One caller at a time.
   *
   * @param now by service; one that no other node has any member of may be among them
   * @return why services are not served as they should be; that is tried again
   */
  public List<String> remote(Map<ServiceKey, Members> now) throws InterruptedException {
    Map<ServiceKey, Members> before = remote;
    var changed = new HashSet<ServiceKey>();
    if (!now.equals(before)) {
      save(now);
      remote = Map.copyOf(now);
      changed.addAll(before.keySet());
      changed.addAll(now.keySet());
      changed.removeIf(
          service ->
              Optional.ofNullable(before.get(service))
                  .equals(Optional.ofNullable(now.get(service))));
    }
    if (nextTry.passed()) {
      changed.addAll(failed.keySet());
      nextTry = Deadline.after(AGAIN);
    }
    for (ServiceKey service : changed) {
      tried(service)
          .ifPresentOrElse(reason -> failed.put(service, reason), () -> failed.remove(service));
    }
    return List.copyOf(failed.values());
  }

  private Optional<String> tried(ServiceKey service) throws InterruptedException {
    try (var _ = lock.lock(service)) {
      apply(service);
      return Optional.empty();
    } catch (AgentException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  /** Called with the lock of the service. */
  private void apply(ServiceKey service) throws InterruptedException {
    Members own = local.get(service);
    Members others = remote.get(service);
    if (own != null) {
      next.update(others == null ? own : merged(own, others));
    } else if (awaited.contains(service)) {
      return;
    } else if (others != null) {
      next.update(others);
    } else {
      next.remove(service);
    }
  }

  /** While a replica moves it may be on two nodes; this one knows its own better. */
  private static Members merged(Members own, Members others) {
    var members = new LinkedHashMap<ContainerId, Member>();
    own.members().forEach(member -> members.put(member.id(), member));
    others.members().forEach(member -> members.putIfAbsent(member.id(), member));
    return new Members(
        own.service(), own.endpoints(), own.loopback(), List.copyOf(members.values()));
  }

  private void save(Map<ServiceKey, Members> now) {
    try {
      if (now.isEmpty()) {
        Files.deleteIfExists(file);
      } else {
        var services = new ArrayList<Json>();
        new TreeMap<>(now).values().forEach(one -> services.add(RecordJson.write(one)));
        AtomicFile.writeRelaxed(
            file, JsonText.bytes(FORMAT.begin().put(SERVICES, services).build()));
      }
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  @Override
  public void update(Members service) throws InterruptedException {
    try (var _ = lock.lock(service.service())) {
      local.put(service.service(), service);
      awaited.remove(service.service());
      apply(service.service());
    }
  }

  /** Other nodes are told first, so that they begin no connection that would be cut off. */
  @Override
  public void drain(ContainerId member, Deadline deadline) throws InterruptedException {
    if (remote.containsKey(new ServiceKey(member.deployment(), member.service()))
        && !deadline.passed()) {
      pauses.pause(deadline.atMost(LAG).left());
    }
    next.drain(member, deadline);
  }

  @Override
  public Optional<Requests> requests(ServiceKey service) throws InterruptedException {
    return next.requests(service);
  }

  @Override
  public void onRequest(ServiceKey service, Runnable listener) {
    next.onRequest(service, listener);
  }

  /** Members of other nodes are served on. */
  @Override
  public void remove(ServiceKey service) throws InterruptedException {
    try (var _ = lock.lock(service)) {
      local.remove(service);
      awaited.remove(service);
      apply(service);
    }
  }
}

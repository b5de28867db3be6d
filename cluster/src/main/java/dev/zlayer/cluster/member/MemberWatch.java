package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.ClusterStore.News;
import dev.zlayer.cluster.store.ClusterStore.Snapshot;
import dev.zlayer.cluster.store.ClusterStore.Watch;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Follows who belongs to the cluster, so that a node that is removed is refused at once, and which
 * certificates were revoked. On a node that stores the state it also keeps the list of those for
 * etcd.
 */
final class MemberWatch implements Owner.State {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final Duration AGAIN = Duration.ofSeconds(1);

  /** Certificates are replaced without a change of a node. */
  private static final Duration LOOK = Duration.ofSeconds(10);

  private final String node;
  private final ClusterStore store;
  private final ClusterFiles files;
  private final Optional<EtcdServer> server;
  private final InstantSource clock;
  private final Consumer<KnownNodes> told;
  private final Consumer<String> removed;
  private KnownNodes known;
  private KnownNodes written;
  private Optional<Set<String>> refused = Optional.empty();
  private @Nullable Watch watch;

  /**
   * Does nothing before its owner starts.
   *
   * @param told every list that is read
   * @param removed every node that is not in it any more
   */
  MemberWatch(
      String node,
      ClusterStore store,
      ClusterFiles files,
      Optional<EtcdServer> server,
      InstantSource clock,
      Consumer<KnownNodes> told,
      Consumer<String> removed) {
    this.node = node;
    this.store = store;
    this.files = files;
    this.server = server;
    this.clock = clock;
    this.told = told;
    this.removed = removed;
    this.known = files.readKnown();
    this.written = known;
    told.accept(known);
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      if (watch == null) {
        watch = store.watch(StoreKeys.MEMBERS, look() + 1);
      }
      if (watch.next(LOOK) instanceof News.Compacted) {
        close();
      } else {
        var _ = look();
      }
      return Duration.ZERO;
    } catch (AgentException _) {
      return AGAIN; // the status of the registration says why; the last list holds until then
    }
  }

  private long look() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    Snapshot list = store.list(StoreKeys.MEMBERS, deadline);
    var listed = new HashMap<String, String>();
    for (Entry entry : list.entries()) {
      NodeRecord record = NodeRecord.parse(entry.value());
      listed.put(record.id(), record.address());
    }
    KnownNodes before = known;
    known = before.after(listed, node);
    Optional<Authority> authority = files.signing();
    if (listed.containsKey(node)) {
      revoke(authority, deadline);
    }
    told.accept(known);
    Map<String, String> gone = known.removedSince(before);
    gone.keySet().forEach(removed);
    if (server.isPresent()) {
      for (String address : gone.values()) {
        server.get().disconnect(address);
      }
    }
    if (!known.equals(written)) {
      files.write(known);
      written = known;
    }
    return list.revision();
  }

  private void revoke(Optional<Authority> authority, Deadline deadline)
      throws InterruptedException {
    Instant now = clock.instant();
    var serials = new TreeSet<String>();
    for (Entry entry : store.list(StoreKeys.REVOKED, deadline).entries()) {
      if (!Instant.parse(entry.value()).isBefore(now)) {
        serials.add(entry.key().substring(StoreKeys.REVOKED.length()));
      } else if (authority.isPresent()) {
        var _ = store.transact(List.of(), List.of(new Change.Delete(entry.key())), deadline);
      }
    }
    known = known.withRevoked(List.copyOf(serials));
    if (authority.isPresent() && !refused.equals(Optional.of(serials))) {
      Set<BigInteger> numbers =
          serials.stream().map(serial -> new BigInteger(serial, 16)).collect(Collectors.toSet());
      files.writeRevoked(authority.get().revoked(numbers, now));
      refused = Optional.of(serials);
    }
  }

  @Override
  public void close() {
    if (watch != null) {
      watch.close();
      watch = null;
    }
  }
}

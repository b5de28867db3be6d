package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.container.Claim;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/**
 * Gets, renews and gives back the claims of this node. A claim is a key that exists once; while it
 * does, no other node starts what it stands for. This node may run that until a time that counts
 * from before a renewal was asked for, and only if the renewal was made, so that it has always
 * passed before another node may have the claim. Whether anything runs longer is not decided here:
 * watchdogs read that time and end what they watch.
 */
public final class NodeClaims implements Owner.State {
  /** One transaction compares as many claims. */
  private static final int MOST = 100;

  private static final int RENEWALS = 10;
  private static final int MILLIS = 1000;
  private static final Duration ROUND = Duration.ofMillis(500);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** What of this node the claims are for. */
  public interface Node {
    /** The time since the machine started, with the time that it slept, in milliseconds. */
    long bootMillis();

    /** Containers of this claim may start, and run until then, by that clock. */
    void extend(String claim, long untilMillis, Duration stop);

    /** They may not start any more, and those that run end at once. */
    void remove(String claim);

    /** The claims of all containers there are, but of those that have ended. */
    Set<String> present();

    /** Ends what should be watched and is not. */
    void endUnwatched();
  }

  private final ClusterStore store;
  private final StateWatch.Source source;
  private final String id;
  private final LongSupplier lease;
  private final Node node;
  private final long stop;
  private final FileCache files;

  /** The claims of this node, by name. */
  private final Map<String, Held> held = new TreeMap<>();

  /** Those that it has given back, which a state that is some moments old still has. */
  private final Map<String, Long> former = new HashMap<>();

  /** The revision of the last renewal. */
  private long renewedIn;

  /** When all of them were renewed last, or given up, by the clock of the node. */
  private long renewedAt = Long.MIN_VALUE / 2;

  private volatile Optional<String> problem = Optional.empty();

  /**
   * A claim of this node.
   *
   * @param made the revision that made it
   * @param stop as it says, which may be of an earlier setting of this node
   */
  private record Held(long made, long stop) {}

  /**
   * Does nothing before its owner starts.
   *
   * @param lease of this node; 0 while it has none
   * @param stop so many seconds after the last renewal containers are ended
   */
  public NodeClaims(
      ClusterStore store,
      StateWatch.Source source,
      String id,
      LongSupplier lease,
      Node node,
      long stop) {
    this.store = store;
    this.source = source;
    this.id = id;
    this.lease = lease;
    this.node = node;
    this.stop = stop;
    this.files = new FileCache(store);
  }

  /** Why it could not renew its claims, or get new ones, in its last round. */
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    Optional<String> unwatched = attempt(node::endUnwatched);
    problem = attempt(this::follow).or(() -> unwatched);
    return shortest().map(seconds -> Duration.ofMillis(seconds * MILLIS / RENEWALS)).orElse(ROUND);
  }

  /** A claim that was made before the setting was changed keeps its time. */
  private Optional<Long> shortest() {
    return held.values().stream().map(Held::stop).min(Long::compare);
  }

  /** A part of a round, which must not keep others from being done. */
  private interface Part {
    void run() throws InterruptedException;
  }

  private static Optional<String> attempt(Part part) throws InterruptedException {
    try {
      part.run();
      return Optional.empty();
    } catch (AgentException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  private void follow() throws InterruptedException {
    renew();
    ClusterState state = source.state();
    if (adopt(state)) {
      renew(); // what an earlier agent left may have little time
    }
    follow(state, assigned(state));
  }

  private Deadline limit() {
    Duration part = Duration.ofMillis(Math.min(stop, shortest().orElse(stop)) * MILLIS / 4);
    return Deadline.after(part.compareTo(LIMIT) < 0 ? part : LIMIT);
  }

  private void renew() throws InterruptedException {
    long began = node.bootMillis();
    if (began - renewedAt > stop * MILLIS) {
      check(held()); // the store may have been restored, and count revisions anew
      former.clear();
    }
    List<Map.Entry<String, Held>> all = held();
    for (int from = 0; from < all.size(); from += MOST) {
      List<Map.Entry<String, Held>> part = all.subList(from, Math.min(all.size(), from + MOST));
      long before = node.bootMillis();
      ClusterStore.Result result =
          store.transact(
              part.stream()
                  .<Condition>map(
                      one ->
                          new Condition.Created(
                              StoreKeys.CLAIMS + one.getKey(), one.getValue().made()))
                  .toList(),
              List.of(renewal()),
              limit());
      if (result.applied()) {
        renewedIn = result.revision();
        part.forEach(one -> extend(one.getKey(), one.getValue().stop(), before));
      } else {
        check(part);
      }
    }
    renewedAt = began;
  }

  /** Copies: the entries of a map change when others are removed from it. */
  private List<Map.Entry<String, Held>> held() {
    var all = new ArrayList<Map.Entry<String, Held>>();
    held.forEach((name, claim) -> all.add(Map.entry(name, claim)));
    return all;
  }

  /** The value says nothing: that it was written is all. */
  private Change renewal() {
    return new Change.Put(StoreKeys.RENEWALS + id, Long.toString(stop));
  }

  private void extend(String claim, long seconds, long before) {
    node.extend(claim, before + seconds * MILLIS, Duration.ofSeconds(seconds));
  }

  /** One of them is another's, or nobody's, by now. */
  private void check(List<Map.Entry<String, Held>> claims) throws InterruptedException {
    for (Map.Entry<String, Held> one : claims) {
      Optional<Entry> now = store.find(StoreKeys.CLAIMS + one.getKey(), limit());
      if (now.filter(entry -> entry.created() == one.getValue().made())
          .filter(entry -> ClusterClaim.parse(entry.value()).node().equals(id))
          .isEmpty()) {
        node.remove(one.getKey());
        held.remove(one.getKey());
        former.put(one.getKey(), one.getValue().made());
      }
    }
  }

  /** Those of an earlier agent of this node, and of a request whose answer was lost. */
  private boolean adopt(ClusterState state) {
    int before = held.size();
    state
        .claims()
        .forEach(
            (name, claim) -> {
              long made = state.modified().getOrDefault(StoreKeys.CLAIMS + name, 0L);
              boolean given = former.getOrDefault(name, 0L) >= made;
              if (claim.node().equals(id) && !given) {
                held.putIfAbsent(name, new Held(made, claim.stop()));
              }
            });
    return held.size() > before;
  }

  /** What this node is to run that needs a claim. */
  private Set<String> assigned(ClusterState state) throws InterruptedException {
    var needed = new HashSet<FileCache.Revision>();
    var assigned = new TreeSet<String>();
    state
        .assignments()
        .forEach(
            (place, one) -> {
              if (place.node().equals(id)) {
                needed.add(new FileCache.Revision(place.deployment(), one.revision()));
              }
            });
    files.load(state, needed, limit());
    state
        .assignments()
        .forEach(
            (place, one) -> {
              if (place.node().equals(id)) {
                one.replicas().keySet().stream()
                    .filter(service -> needed(place.deployment(), one, service))
                    .forEach(service -> assigned.add(Claim.of(place.deployment(), service)));
              }
            });
    for (ClusterExecution one : state.executions().values()) {
      Assignment known = state.assignments().get(new ClusterState.Place(id, one.deployment()));
      if (one.node().equals(Optional.of(id))
          && known != null
          && needed(one.deployment(), known, one.job())) {
        assigned.add(Claim.of(one.deployment(), one.job()));
      }
    }
    return assigned;
  }

  private boolean needed(String deployment, Assignment assignment, String service) {
    return files
        .find(deployment, assignment.revision())
        .flatMap(spec -> Optional.ofNullable(spec.services().get(service)))
        .filter(ClusterClaim::needed)
        .isPresent();
  }

  private void follow(ClusterState state, Set<String> assigned) throws InterruptedException {
    for (String claim : assigned) {
      if (!held.containsKey(claim)
          && !state.claims().containsKey(claim)
          && lease.getAsLong() != 0) {
        acquire(claim);
      }
    }
    if (held.keySet().stream().allMatch(assigned::contains)) {
      return;
    }
    Set<String> present = node.present();
    for (String claim : List.copyOf(held.keySet())) {
      if (!assigned.contains(claim) && !present.contains(claim)) {
        release(claim);
      }
    }
  }

  private void acquire(String claim) throws InterruptedException {
    String key = StoreKeys.CLAIMS + claim;
    long before = node.bootMillis();
    ClusterStore.Result result =
        store.transact(
            List.of(new Condition.Absent(key)),
            List.of(new Change.Put(key, new ClusterClaim(id, stop).json()), renewal()),
            limit());
    if (result.applied()) {
      renewedIn = result.revision();
      held.put(claim, new Held(result.revision(), stop));
      extend(claim, stop, before);
    }
  }

  /**
   * Nothing starts by it any more; then, when nothing runs by it either, others may have it. A
   * request that nobody answered may be carried out much later, when this node has renewed the
   * claim and runs something by it again: so it holds only until the next renewal.
   */
  private void release(String claim) throws InterruptedException {
    node.remove(claim);
    if (node.present().contains(claim)) {
      return; // it began a moment before
    }
    String key = StoreKeys.CLAIMS + claim;
    long made = Objects.requireNonNull(held.get(claim)).made();
    boolean removed =
        store
            .transact(
                List.of(
                    new Condition.Created(key, made),
                    new Condition.Unchanged(StoreKeys.RENEWALS + id, renewedIn)),
                List.of(new Change.Delete(key)),
                limit())
            .applied();
    if (removed) {
      held.remove(claim);
      former.put(claim, made);
    } else {
      check(List.of(Map.entry(claim, new Held(made, stop))));
    }
  }
}

package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.deploy.Desired.Report;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Applies what is assigned to this node, and reports. The engine of the node owns the containers:
 * it keeps them as it was told last, also while the cluster cannot be reached or has no leader.
 */
public final class NodeShares implements Owner.State {
  private static final Duration ROUND = Duration.ofMillis(500);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** The engine of this node. */
  public interface Engine {
    /** What it runs of deployments of the cluster, by name; those being removed, too. */
    Map<String, Applied> applied();

    /** Runs an assignment from now on; returns why it cannot ever do that. */
    Optional<String> apply(String deployment, Assignment assignment, Desired.File file)
        throws InterruptedException;

    /** Removes a deployment of the cluster; returns before it is removed. */
    void remove(String deployment, boolean volumes);
  }

  /**
   * What the engine runs of a deployment.
   *
   * @param mark of the settings of its replicas
   */
  public record Applied(
      long revision,
      Map<String, List<Integer>> replicas,
      String mark,
      boolean removing,
      Report report) {
    boolean fits(Assignment assignment) {
      return !removing
          && revision == assignment.revision()
          && replicas.equals(assignment.replicas())
          && mark.equals(assignment.mark());
    }
  }

  /** What was written, and by which change. */
  private record Reported(String text, long revision) {}

  /** Another node that is alive. */
  public record Peer(String id, String name, String address) {}

  private final ClusterStore store;
  private final StateWatch.Source source;
  private final String node;
  private final LongSupplier lease;
  private final Engine engine;
  private final Map<String, Report> refused = new HashMap<>();
  private final Map<String, Reported> reported = new HashMap<>();
  private long reportLease;

  /** What an earlier agent of this node reported and is valid still. */
  private Optional<Map<String, Report>> earlier = Optional.empty();

  private volatile Optional<String> problem = Optional.empty();
  private final Consumer<List<Peer>> peers;
  private final SecretGate secrets;

  /**
   * Does nothing before its owner starts.
   *
   * @param lease of this node; 0 while it has none
   * @param peers is told the other nodes that are alive
   */
  public NodeShares(
      ClusterStore store,
      StateWatch.Source source,
      String node,
      LongSupplier lease,
      Engine engine,
      Consumer<List<Peer>> peers) {
    this(store, source, node, lease, engine, peers, SecretGate.OPEN);
  }

  /**
   * Likewise.
   *
   * @param secrets nothing is applied before its secrets are here
   */
  public NodeShares(
      ClusterStore store,
      StateWatch.Source source,
      String node,
      LongSupplier lease,
      Engine engine,
      Consumer<List<Peer>> peers,
      SecretGate secrets) {
    this.secrets = secrets;
    this.peers = peers;
    this.store = store;
    this.source = source;
    this.node = node;
    this.lease = lease;
    this.engine = engine;
  }

  /** Why it could not follow the assignments in its last round. */
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      follow();
      problem = Optional.empty();
    } catch (AgentException e) {
      problem = Optional.of(String.valueOf(e.getMessage()));
    }
    return ROUND;
  }

  private void follow() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    ClusterState state = source.state();
    look(state);
    var assigned = new TreeMap<String, Assignment>();
    state
        .assignments()
        .forEach(
            (place, assignment) -> {
              if (place.node().equals(node)) {
                assigned.put(place.deployment(), assignment);
              }
            });
    Map<String, Applied> applied = engine.applied();
    for (Map.Entry<String, Applied> one : applied.entrySet()) {
      if (!assigned.containsKey(one.getKey()) && !one.getValue().removing()) {
        engine.remove(one.getKey(), false);
      }
    }
    Optional<AgentException> failure = Optional.empty();
    for (Map.Entry<String, Assignment> one : assigned.entrySet()) {
      Optional<Applied> own = Optional.ofNullable(applied.get(one.getKey()));
      try {
        follow(state, one.getKey(), one.getValue(), own, deadline);
      } catch (AgentException e) {
        failure = Optional.of(failure.orElse(e)); // it holds up neither the others nor reports
      }
    }
    refused.keySet().retainAll(assigned.keySet());
    report(state, assigned.keySet(), engine.applied(), deadline);
    if (failure.isPresent()) {
      throw failure.get();
    }
  }

  private void look(ClusterState state) {
    peers.accept(
        state.members().values().stream()
            .filter(member -> !member.id().equals(node) && state.alive().containsKey(member.id()))
            .map(member -> new Peer(member.id(), member.name(), member.address()))
            .toList());
  }

  private void follow(
      ClusterState state,
      String name,
      Assignment assignment,
      Optional<Applied> own,
      Deadline deadline)
      throws InterruptedException {
    if (assignment.removing().isPresent()) {
      if (own.isPresent()) {
        if (!own.get().removing()) {
          engine.remove(name, assignment.removing().get());
        }
      } else {
        // the leader waits for this: nothing is left here
        String key = new Place(node, name).assignment();
        var _ =
            store.transact(
                List.of(state.unchanged(key)), List.of(new Change.Delete(key)), deadline);
      }
      return;
    }
    boolean known =
        own.filter(one -> one.fits(assignment)).isPresent()
            || Optional.ofNullable(refused.get(name))
                .filter(report -> report.revision() == assignment.revision())
                .isPresent();
    if (known || own.filter(Applied::removing).isPresent()) {
      return; // what is being removed ends first
    }
    Optional<Desired.File> file =
        store
            .find(StoreKeys.file(name, assignment.revision()), deadline)
            .map(found -> Desired.File.parse(found.value()));
    if (file.isPresent() && secrets.applies(state, name, file.get())) {
      Optional<String> refusal = engine.apply(name, assignment, file.get());
      refusal.ifPresentOrElse(
          reason -> refused.put(name, Report.refused(assignment.revision(), reason)),
          () -> refused.remove(name));
    }
  }

  /** Every change is compared with what was there: one that was late must not undo a newer one. */
  private void report(
      ClusterState state, Set<String> assigned, Map<String, Applied> applied, Deadline deadline)
      throws InterruptedException {
    long own = lease.getAsLong();
    if (own == 0) {
      return;
    }
    if (own != reportLease) {
      reported.clear(); // they ended with the lease
      reportLease = own;
    }
    if (earlier.isEmpty()) {
      earlier = Optional.of(reports(deadline));
    }
    Map<String, Report> before = earlier.get();
    before.keySet().retainAll(assigned);
    var next = new TreeMap<String, String>();
    for (String name : assigned) {
      Optional.ofNullable(refused.get(name))
          .or(() -> Optional.ofNullable(applied.get(name)).map(Applied::report))
          .map(report -> report.after(Optional.ofNullable(before.get(name))))
          .ifPresent(report -> next.put(name, report.json()));
    }
    for (Place place : state.reports().keySet()) {
      String name = place.deployment();
      boolean ended = !assigned.contains(name) || reported.containsKey(name);
      if (place.node().equals(node) && !next.containsKey(name) && ended) {
        var _ = change(state, place, new Change.Delete(place.report()), deadline);
      }
    }
    reported
        .keySet()
        .removeIf(
            name -> !next.containsKey(name) && !state.reports().containsKey(new Place(node, name)));
    Optional<AgentException> failure = Optional.empty();
    for (Map.Entry<String, String> one : next.entrySet()) {
      var place = new Place(node, one.getKey());
      if (!written(state, place, one.getValue())) {
        try {
          ClusterStore.Result made =
              change(state, place, new Change.Put(place.report(), one.getValue(), own), deadline);
          if (made.applied()) {
            reported.put(one.getKey(), new Reported(one.getValue(), made.revision()));
          }
        } catch (AgentException e) {
          failure = Optional.of(failure.orElse(e)); // it does not hold up the others
        }
      }
    }
    if (failure.isPresent()) {
      throw failure.get();
    }
  }

  private ClusterStore.Result change(
      ClusterState state, Place place, Change change, Deadline deadline)
      throws InterruptedException {
    return store.transact(List.of(state.unchanged(place.report())), List.of(change), deadline);
  }

  /** Whether the cluster has this report, as far as is known. */
  private boolean written(ClusterState state, Place place, String text) {
    Reported known = reported.get(place.deployment());
    return known != null
        && known.text().equals(text)
        && (state.revision() < known.revision()
            || state.modified().getOrDefault(place.report(), 0L) == known.revision());
  }

  private Map<String, Report> reports(Deadline deadline) throws InterruptedException {
    var reports = new HashMap<String, Report>();
    for (Entry entry : store.list(StoreKeys.REPORTS + node + "/", deadline).entries()) {
      reports.put(
          Place.of(entry.key(), StoreKeys.REPORTS).deployment(), Report.parse(entry.value()));
    }
    return reports;
  }
}

package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.ClusterView;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * Makes assignments of what is desired, on one node at a time: on the one that has the key of the
 * leader. Every change that it makes is compared with that key, so that one that is no longer the
 * leader changes nothing. It decides on what it follows or reads in each round and owns nothing
 * else.
 */
public final class Leader implements Owner.State {
  private static final System.Logger LOG = LazyLogger.of(Leader.class);

  /**
   * So long after the end of its lease, the replicas of a node are started on others. An agent that
   * is started again registers within that; a new leader of etcd lets leases begin anew, and all
   * together is to take 15 s.
   */
  static final Duration GRACE = Duration.ofSeconds(5);

  private static final Duration ROUND = Duration.ofMillis(500);
  private static final Duration LIMIT = Duration.ofSeconds(5);

  /** Each place costs up to three conditions. */
  private static final int MOST_PLACES = 35;

  /** Of what is decided with one transaction; events about it, and keys, are the rest. */
  private static final int MOST_BYTES = ClusterStore.MOST_BYTES / 2;

  private static final int MOST_REFUSALS = 1000;

  private final ClusterStore store;
  private final StateWatch.Source source;
  private final Election election;
  private final String node;
  private final LongSupplier lease;
  private final Duration grace;
  private final InstantSource clock;
  private final FileCache files;
  private final Schedules schedules;
  private final DependencyRuns dependencies;
  private final Results results;
  private final Scaling scaling;
  private final LeaderEvents events;
  private final ClaimExpiry claims;
  private final Map<String, Deadline> lost = new HashMap<>();
  private final Set<ClusterView.Refusal> refusals = new LinkedHashSet<>();
  private final Set<String> warned = new HashSet<>();
  private long settledAt;

  /** When the plan changes although the state does not. */
  private Optional<Instant> planAgain = Optional.empty();

  /** The revision of the last change; everything when it is unknown what became of one. */
  private long written;

  private volatile Optional<String> problem = Optional.empty();

  /**
   * Does nothing before its owner starts.
   *
   * @param source the state, which may be some moments old
   * @param lease of this node; 0 while it has none
   * @param bootMillis the time since the machine started
   */
  public Leader(
      ClusterStore store,
      StateWatch.Source source,
      String node,
      LongSupplier lease,
      InstantSource clock,
      LongSupplier bootMillis) {
    this(store, source, node, lease, clock, bootMillis, GRACE);
  }

  Leader(
      ClusterStore store,
      StateWatch.Source source,
      String node,
      LongSupplier lease,
      InstantSource clock,
      LongSupplier bootMillis,
      Duration grace) {
    this.store = store;
    this.source = source;
    this.clock = clock;
    this.schedules = new Schedules(store, clock);
    this.dependencies = new DependencyRuns(store, clock);
    this.results = new Results(store);
    this.scaling = new Scaling(store, clock);
    this.events = new LeaderEvents(store, clock);
    this.claims = new ClaimExpiry(store, bootMillis);
    this.files = new FileCache(store);
    this.election = new Election(store, StoreKeys.LEADER);
    this.node = node;
    this.lease = lease;
    this.grace = grace;
  }

  /** Why it could not decide in its last round. */
  public Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      long own = lease.getAsLong();
      if (own != 0) {
        ClusterState state = source.state();
        Optional<Election.Term> known = state.term();
        Election.Term term =
            known.isPresent() ? known.get() : election.campaign(node, own, Deadline.after(LIMIT));
        if (term.leader().equals(node)) {
          lead(term, state);
        } else {
          forget();
        }
      }
      problem = Optional.empty();
    } catch (AgentException e) {
      // nothing ends for it: assignments and containers stay as they are
      problem = Optional.of(String.valueOf(e.getMessage()));
    }
    return ROUND;
  }

  /** Whoever leads next begins with what it reads. */
  private void forget() {
    files.clear();
    results.clear();
    scaling.clear();
    lost.clear();
    claims.forget();
    refusals.clear();
    warned.clear();
    events.forget();
    settledAt = 0;
    written = 0;
  }

  private void lead(Election.Term term, ClusterState known) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    ClusterState state = current(term, known, deadline);
    events.observe(
        state, term, eventKey(state), changes -> transact(List.of(term.condition()), changes));
    claims.run(state, term);
    Set<String> waiting = waiting(state);
    boolean again = planAgain.filter(at -> !clock.instant().isBefore(at)).isPresent();
    if (state.revision() == settledAt && waiting.isEmpty() && !again) {
      schedules.start(state, files::find, term);
      scaling.follow(state, files::find, term);
      return;
    }
    files.loadAll(state, deadline);
    schedules.start(state, files::find, term);
    scaling.follow(state, files::find, term);
    results.load(state, deadline);
    dependencies.follow(state, files::find, results, term);
    refused(state);
    ClusterPlan plan =
        ClusterPlan.of(
            state, files::find, waiting, List.copyOf(refusals), results, clock.instant());
    planAgain = plan.again();
    plan.warnings().stream()
        .filter(warned::add)
        .forEach(text -> LOG.log(System.Logger.Level.WARNING, text));
    List<ClusterExecution> executions = executions(state, plan, waiting);
    if (!write(executions, state, term)) {
      return; // decided on something that has changed: read again
    }
    if (plan.settled(state) && executions.isEmpty()) {
      // the end of a grace changes the plan, and nothing in the store
      settledAt = waiting.isEmpty() ? state.revision() : 0;
    } else {
      write(plan, state, term);
    }
  }

  /**
   * A state with all that leaders have changed until now. Changes are compared with the keys that
   * they change, which is not enough when one that was decided on is missing here: a replica would
   * be placed twice.
   */
  private ClusterState current(Election.Term term, ClusterState known, Deadline deadline)
      throws InterruptedException {
    if (known.revision() >= Math.max(term.epoch(), written)) {
      return known;
    }
    ClusterState read = ClusterState.read(store, deadline);
    written = read.revision();
    return read;
  }

  /** Larger than that of all events so far: each was written by a transaction of a leader. */
  private long eventKey(ClusterState state) {
    return Math.max(state.revision(), written);
  }

  private boolean transact(List<Condition> conditions, List<Change> changes)
      throws InterruptedException {
    long before = written;
    written = Long.MAX_VALUE; // until it is known what became of it
    ClusterStore.Result result = store.transact(conditions, changes, Deadline.after(LIMIT));
    written = Math.max(before, result.revision());
    return result.applied();
  }

  /** Nodes that are not alive and may be again in a moment. */
  private Set<String> waiting(ClusterState state) {
    lost.keySet().removeIf(id -> state.alive().containsKey(id) || !state.members().containsKey(id));
    var waiting = new HashSet<String>();
    for (String id : state.members().keySet()) {
      if (!state.alive().containsKey(id)
          && !lost.computeIfAbsent(id, _ -> Deadline.after(grace)).passed()) {
        waiting.add(id);
      }
    }
    return waiting;
  }

  /** What a node refused is not given to it again until one of the two changes. */
  private void refused(ClusterState state) {
    state
        .reports()
        .forEach(
            (place, report) -> {
              Assignment assigned = state.assignments().get(place);
              NodeRecord member = state.members().get(place.node());
              if (assigned != null && member != null) {
                refused(state, place, member, assigned, report);
              }
            });
    while (refusals.size() > MOST_REFUSALS) {
      refusals.remove(refusals.iterator().next());
    }
  }

  private void refused(
      ClusterState state,
      Place place,
      NodeRecord member,
      Assignment assigned,
      Desired.Report report) {
    long node = ClusterPlan.facts(state, member).revision();
    files
        .find(place.deployment(), assigned.revision())
        .map(PlacedGroup::of)
        .orElse(Map.of())
        .values()
        .stream()
        .filter(group -> !assigned.numbers(group.key()).isEmpty())
        .forEach(
            group ->
                report
                    .refusal(assigned, group.service())
                    .ifPresent(
                        reason ->
                            refusals.add(
                                new ClusterView.Refusal(
                                    place.deployment() + "/" + group.key(),
                                    assigned
                                        .settings(
                                            group.key(), assigned.numbers(group.key()).getFirst())
                                        .map(Desired.Settings::revision)
                                        .orElse(Long.toString(assigned.revision())),
                                    place.node(),
                                    node,
                                    reason))));
  }

  /** As they are next: those that get a node, and those that end without one. */
  private List<ClusterExecution> executions(
      ClusterState state, ClusterPlan plan, Set<String> waiting) {
    var present = new HashSet<>(state.alive().keySet());
    present.retainAll(state.members().keySet());
    present.addAll(waiting);
    var next = new ArrayList<>(JobPlan.next(state, files::find, present, results, clock.instant()));
    plan.executions()
        .forEach(
            (key, place) ->
                next.add(Objects.requireNonNull(state.executions().get(key)).on(place)));
    return next;
  }

  private boolean write(List<ClusterExecution> executions, ClusterState state, Election.Term term)
      throws InterruptedException {
    for (List<ClusterExecution> part : parts(executions, one -> one.json().length())) {
      var conditions = new LinkedHashSet<Condition>();
      conditions.add(term.condition());
      var changes = new ArrayList<Change>();
      for (ClusterExecution one : part) {
        conditions.add(state.unchanged(one.key()));
        // the one that it gets is still there, the one that was lost is not back
        String node = one.node().or(() -> one.lost().stream().reduce((_, last) -> last)).orElse("");
        conditions.add(state.unchanged(StoreKeys.alive(node)));
        changes.addAll(one.changes());
      }
      changes.addAll(events.write(events.lost(state, part), eventKey(state)));
      if (!transact(List.copyOf(conditions), changes)) {
        return false;
      }
    }
    return true;
  }

  /** As many together as fit into one transaction. */
  static <T> List<List<T>> parts(List<T> all, ToLongFunction<T> length) {
    var parts = new ArrayList<List<T>>();
    int from = 0;
    long bytes = 0;
    for (int at = 0; at < all.size(); at++) {
      // a character has three bytes at most
      long own = 3 * length.applyAsLong(all.get(at));
      if (at > from && (at - from == MOST_PLACES || bytes + own > MOST_BYTES)) {
        parts.add(all.subList(from, at));
        from = at;
        bytes = 0;
      }
      bytes += own;
    }
    if (from < all.size()) {
      parts.add(all.subList(from, all.size()));
    }
    return parts;
  }

  private void write(ClusterPlan plan, ClusterState state, Election.Term term)
      throws InterruptedException {
    var byDeployment = new TreeMap<String, List<Place>>();
    plan.assignments()
        .keySet()
        .forEach(
            place ->
                byDeployment
                    .computeIfAbsent(place.deployment(), _ -> new ArrayList<>())
                    .add(place));
    for (Map.Entry<String, String> volume : plan.volumes().entrySet()) {
      String key = StoreKeys.VOLUMES + volume.getKey();
      if (!put(term, state, key, volume.getValue())) {
        return; // decided on something that has changed: read again
      }
    }
    for (Map.Entry<String, List<Place>> one : byDeployment.entrySet()) {
      if (!assign(one.getKey(), one.getValue(), plan, state, term)) {
        return;
      }
    }
    explain(plan, state, term);
    for (String name : plan.removed()) {
      remove(name, state, term);
    }
  }

  private boolean put(Election.Term term, ClusterState state, String key, String value)
      throws InterruptedException {
    return transact(
        List.of(term.condition(), state.unchanged(key)), List.of(new Change.Put(key, value)));
  }

  private boolean assign(
      String deployment,
      List<Place> places,
      ClusterPlan plan,
      ClusterState state,
      Election.Term term)
      throws InterruptedException {
    for (List<Place> part : parts(places, place -> length(plan, place))) {
      var conditions = new LinkedHashSet<Condition>();
      conditions.add(term.condition());
      conditions.add(state.unchanged(StoreKeys.DESIRED + deployment));
      var changes = new ArrayList<Change>();
      for (Place place : part) {
        Optional<Assignment> next = plan.assignments().getOrDefault(place, Optional.empty());
        conditions.add(state.unchanged(place.assignment()));
        if (next.isPresent()) {
          conditions.add(state.unchanged(StoreKeys.alive(place.node())));
          conditions.add(state.unchanged(StoreKeys.member(place.node())));
        }
        changes.add(
            next.<Change>map(one -> new Change.Put(place.assignment(), one.json()))
                .orElseGet(() -> new Change.Delete(place.assignment())));
      }
      changes.addAll(events.write(events.moved(state, part, plan), eventKey(state)));
      if (!transact(List.copyOf(conditions), changes)) {
        return false;
      }
    }
    return true;
  }

  private static int length(ClusterPlan plan, Place place) {
    return plan.assignments()
        .getOrDefault(place, Optional.empty())
        .map(one -> one.json().length())
        .orElse(0);
  }

  /** Why replicas are not placed, for those who ask. */
  private void explain(ClusterPlan plan, ClusterState state, Election.Term term)
      throws InterruptedException {
    var names = new HashSet<>(state.unplaced().keySet());
    names.addAll(plan.unplaced().keySet());
    for (String name : names) {
      Map<String, String> reasons = plan.unplaced().getOrDefault(name, Map.of());
      if (!reasons.equals(state.unplaced().getOrDefault(name, Map.of()))) {
        Change change =
            reasons.isEmpty()
                ? new Change.Delete(StoreKeys.UNPLACED + name)
                : new Change.Put(
                    StoreKeys.UNPLACED + name, JsonText.print(RecordJson.write(reasons)));
        boolean _ = transact(List.of(term.condition()), List.of(change));
      }
    }
  }

  /** Nothing of it is left on any node. */
  private void remove(String name, ClusterState state, Election.Term term)
      throws InterruptedException {
    Desired desired = state.desired().get(name);
    if (desired == null) {
      return;
    }
    var changes = new ArrayList<Change>();
    changes.add(new Change.Delete(StoreKeys.DESIRED + name));
    changes.add(new Change.Delete(StoreKeys.UNPLACED + name));
    changes.add(new Change.DeleteAll(StoreKeys.files(name)));
    changes.add(new Change.DeleteAll(StoreKeys.EXECUTIONS + name + "/"));
    changes.add(new Change.DeleteAll(StoreKeys.SCHEDULES + name + "/"));
    changes.add(new Change.DeleteAll(StoreKeys.DEPENDENCIES + name + "/"));
    changes.add(new Change.DeleteAll(StoreKeys.RESULTS + name + "/"));
    if (desired.removing().orElse(false)) {
      files.find(name, desired.revision()).stream()
          .flatMap(spec -> spec.services().values().stream())
          .flatMap(service -> service.storage().stream())
          .filter(StorageSpec.Named.class::isInstance)
          .map(volume -> new Change.Delete(StoreKeys.VOLUMES + ((StorageSpec.Named) volume).name()))
          .distinct()
          .forEach(changes::add);
    }
    boolean _ =
        transact(List.of(term.condition(), state.unchanged(StoreKeys.DESIRED + name)), changes);
  }
}

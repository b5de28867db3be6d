package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterEventLog.Happened;
import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Writes what happens to the cluster, as the leader sees it: in the transaction that makes it
 * happen, or in one with what was seen of the nodes before. So an event is written once, whoever is
 * killed, and the next leader continues where this one was. Used by the owner of the leader alone.
 */
final class LeaderEvents {
  /** As many transactions with events are kept. */
  private static final int KEPT = 500;

  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final int MOST_LEFT = 1000;

  private final ClusterStore store;
  private final InstantSource clock;
  private final Deque<String> keys = new ArrayDeque<>();

  /** Where replicas were that have no node at the moment. */
  private final Map<String, String> left = new HashMap<>();

  private @Nullable Seen seen;

  /** What the events so far have said. */
  record Seen(String leader, Map<String, SeenNode> nodes) {
    Seen {
      nodes = Map.copyOf(nodes);
    }

    static Seen of(ClusterState state, String leader) {
      var nodes = new TreeMap<String, SeenNode>();
      state
          .members()
          .forEach(
              (id, member) -> nodes.put(id, new SeenNode(member.name(), status(state, member))));
      return new Seen(leader, nodes);
    }

    private static String status(ClusterState state, NodeRecord member) {
      return state.alive().containsKey(member.id())
          ? member.status().name().toLowerCase(Locale.ROOT)
          : "lost";
    }
  }

  /** One node of them. */
  record SeenNode(String name, String status) {}

  /** Makes a transaction that only this leader can make; false when it is none any more. */
  @FunctionalInterface
  interface Transactor {
    boolean transact(List<Change> changes) throws InterruptedException;
  }

  LeaderEvents(ClusterStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  /** Whoever leads next begins with what it reads. */
  void forget() {
    seen = null;
    keys.clear();
    left.clear();
  }

  /**
   * Writes what happened to the nodes and to the leadership since it was written last.
   *
   * @param revision larger than that of all events so far
   */
  void observe(ClusterState state, Election.Term term, long revision, Transactor transactor)
      throws InterruptedException {
    Optional<Seen> before = seen == null ? read() : Optional.of(seen);
    Seen now = Seen.of(state, term.leader());
    if (before.isPresent() && before.get().equals(now)) {
      seen = now;
      return;
    }
    var changes = new ArrayList<Change>();
    changes.add(new Change.Put(StoreKeys.SEEN_NODES, JsonText.print(RecordJson.write(now))));
    changes.addAll(write(happened(before, now, clock.instant()), revision));
    seen = null; // until it is known what became of it
    if (transactor.transact(changes)) {
      seen = now;
    }
  }

  private Optional<Seen> read() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    keys.clear();
    store.list(StoreKeys.EVENTS, deadline).entries().forEach(entry -> keys.add(entry.key()));
    return store.find(StoreKeys.SEEN_NODES, deadline).flatMap(LeaderEvents::parse);
  }

  /** What cannot be read, because a later version wrote it, keeps nobody from leading. */
  private static Optional<Seen> parse(Entry entry) {
    try {
      return Optional.of(RecordJson.read(JsonText.parse(entry.value()), Seen.class));
    } catch (AgentException.InvalidSpec | AgentException.Internal _) {
      return Optional.empty();
    }
  }

  /** Pure. */
  static List<Happened> happened(Optional<Seen> before, Seen now, Instant at) {
    var events = new ArrayList<Happened>();
    Map<String, SeenNode> old = before.map(Seen::nodes).orElse(now.nodes());
    if (!before.map(Seen::leader).equals(Optional.of(now.leader()))) {
      String name = name(now, now.leader());
      events.add(
          ClusterEventLog.now(
              at,
              "cluster.leader_changed",
              name,
              Json.object()
                  .put("leader", name)
                  .putIf("before", before.map(one -> name(one, one.leader())))
                  .build()));
    }
    new TreeMap<>(now.nodes())
        .forEach(
            (id, node) -> {
              SeenNode earlier = old.get(id);
              if (earlier == null) {
                events.add(node(at, "joined", node));
              } else if (!earlier.status().equals(node.status())) {
                events.add(node(at, node.status(), node));
              }
            });
    new TreeMap<>(old)
        .forEach(
            (id, node) -> {
              if (!now.nodes().containsKey(id)) {
                events.add(node(at, "removed", node));
              }
            });
    return events;
  }

  private static String name(Seen seen, String id) {
    SeenNode node = seen.nodes().get(id);
    return node == null ? id : node.name();
  }

  private static Happened node(Instant at, String what, SeenNode node) {
    return ClusterEventLog.now(at, "node." + what, node.name(), Json.object().build());
  }

  /**
   * The changes that write events, to be made together with what they are about.
   *
   * @param revision larger than that of all events so far
   */
  List<Change> write(List<Happened> events, long revision) {
    if (events.isEmpty()) {
      return List.of();
    }
    List<Happened> written =
        events.subList(0, Math.min(events.size(), ClusterEventLog.PER_CHANGE - 1));
    String key = StoreKeys.EVENTS + "%016d".formatted(revision);
    var changes = new ArrayList<Change>();
    changes.add(new Change.Put(key, ClusterEventLog.text(written)));
    long last = ClusterEventLog.first(key) + written.size() - 1;
    changes.add(new Change.Put(StoreKeys.LAST_EVENT, Long.toString(last)));
    keys.add(key);
    // more than one only when there are more than there should be; a transaction has its limit
    for (int i = 0; i < 2 && keys.size() > KEPT; i++) {
      changes.add(new Change.Delete(keys.remove()));
    }
    return changes;
  }

  /** Replicas that get another node with a part of a plan. */
  List<Happened> moved(ClusterState state, List<Place> part, ClusterPlan plan) {
    var events = new ArrayList<Happened>();
    for (Place place : part) {
      Optional<Assignment> next = plan.assignments().getOrDefault(place, Optional.empty());
      Assignment old = state.assignments().get(place);
      if (old != null && ending(state, place.node())) {
        old.replicas().forEach((service, numbers) -> left(place, service, numbers, next));
      }
    }
    for (Place place : part) {
      Optional<Assignment> next = plan.assignments().getOrDefault(place, Optional.empty());
      Assignment old = state.assignments().get(place);
      next.ifPresent(
          one ->
              one.replicas()
                  .forEach(
                      (service, numbers) -> {
                        for (int number : numbers) {
                          if (old == null || !old.numbers(service).contains(number)) {
                            moved(state, place, service, number).ifPresent(events::add);
                          }
                        }
                      }));
    }
    return events;
  }

  /** Whether replicas leave a node because of the node. */
  private static boolean ending(ClusterState state, String node) {
    NodeRecord member = state.members().get(node);
    return member == null
        || !state.alive().containsKey(node)
        || member.status() == NodeFacts.Status.DRAINING;
  }

  private void left(Place place, String service, List<Integer> numbers, Optional<Assignment> next) {
    for (int number : numbers) {
      if (next.isEmpty() || !next.get().numbers(service).contains(number)) {
        if (left.size() >= MOST_LEFT) {
          left.clear();
        }
        left.put(replica(place.deployment(), service, number), place.node());
      }
    }
  }

  private Optional<Happened> moved(ClusterState state, Place place, String service, int number) {
    String replica = replica(place.deployment(), service, number);
    Optional<String> from =
        state.assignments(place.deployment()).entrySet().stream()
            .filter(one -> !one.getKey().equals(place.node()))
            .filter(one -> one.getValue().numbers(service).contains(number))
            .map(Map.Entry::getKey)
            .findFirst()
            .or(() -> Optional.ofNullable(left.get(replica)))
            .filter(node -> !node.equals(place.node()));
    left.remove(replica);
    return from.map(
        node ->
            ClusterEventLog.now(
                clock.instant(),
                "replica.moved",
                replica,
                Json.object()
                    .put("deployment", place.deployment())
                    .put("service", service)
                    .put("replica", number)
                    .put("from", name(state, node))
                    .put("to", name(state, place.node()))
                    .put(
                        "reason",
                        !state.alive().containsKey(node)
                            ? "node lost"
                            : ending(state, node) ? "node drained" : "placed elsewhere")
                    .build()));
  }

  private static String replica(String deployment, String service, int number) {
    return deployment + "/" + service + "/" + number;
  }

  /** Executions whose node was lost with them. */
  List<Happened> lost(ClusterState state, List<ClusterExecution> next) {
    var events = new ArrayList<Happened>();
    for (ClusterExecution one : next) {
      ClusterExecution old = state.executions().get(one.key());
      boolean again = old != null && one.lost().size() > old.lost().size();
      boolean ended =
          one.progress()
              .filter(progress -> progress.status().equals(ClusterExecution.LOST))
              .isPresent();
      if (again || ended) {
        String node = Optional.ofNullable(old).flatMap(ClusterExecution::node).orElse("");
        events.add(
            ClusterEventLog.now(
                clock.instant(),
                "job.lost",
                one.name(),
                Json.object()
                    .put("deployment", one.deployment())
                    .put("job", one.deployment() + "/" + one.job())
                    .put("lost_with", name(state, node))
                    .put("retried", again)
                    .build()));
      }
    }
    return events;
  }

  private static String name(ClusterState state, String node) {
    NodeRecord member = state.members().get(node);
    return member == null ? node : member.name();
  }
}

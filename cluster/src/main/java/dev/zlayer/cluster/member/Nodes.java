package dev.zlayer.cluster.member;

import dev.zlayer.cluster.member.Cluster.Node;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * The nodes of the cluster as they are stored.
 *
 * @param self the id of this one
 */
record Nodes(ClusterStore store, String self) {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** By name. */
  List<Node> list() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    Map<String, String> alive = new HashMap<>();
    store
        .list(StoreKeys.ALIVE, deadline)
        .entries()
        .forEach(
            entry -> alive.put(entry.key().substring(StoreKeys.ALIVE.length()), entry.value()));
    Map<String, Instant> expiry = new HashMap<>();
    for (Entry entry : store.list(StoreKeys.CERTIFICATES, deadline).entries()) {
      String rest = entry.key().substring(StoreKeys.CERTIFICATES.length());
      // the newest one is in use, or about to be
      expiry.merge(
          rest.substring(0, rest.indexOf('/')),
          Instant.parse(entry.value()),
          (one, other) -> one.isAfter(other) ? one : other);
    }
    return store.list(StoreKeys.MEMBERS, deadline).entries().stream()
        .map(entry -> NodeRecord.parse(entry.value()))
        .map(
            node ->
                new Node(
                    node,
                    Optional.ofNullable(alive.get(node.id())).map(NodeRecord.Facts::parse),
                    node.id().equals(self),
                    Optional.ofNullable(expiry.get(node.id()))))
        .sorted(java.util.Comparator.comparing(node -> node.node().name()))
        .toList();
  }

  /** By its name or id. */
  Node find(String name) throws InterruptedException {
    return list().stream()
        .filter(node -> node.node().name().equals(name) || node.node().id().equals(name))
        .findFirst()
        .orElseThrow(
            () -> new AgentException.NotFound("node '%s'".formatted(name), "not in this cluster"));
  }

  Node change(String name, UnaryOperator<NodeRecord> changed) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    String key = StoreKeys.member(find(name).node().id());
    while (true) {
      Entry entry =
          store
              .find(key, deadline)
              .orElseThrow(() -> new AgentException.NotFound("node " + name, "it was removed"));
      NodeRecord record = NodeRecord.parse(entry.value());
      if (store
          .transact(
              List.of(new Condition.Unchanged(key, entry.modified())),
              List.of(new Change.Put(key, changed.apply(record).text())),
              deadline)
          .applied()) {
        return find(name);
      }
    }
  }
}

package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Removes claims of nodes that are lost, for the leader: when it has seen no renewal for the time
 * of the claim, by its own clock alone. A leader that begins counts anew. The removal is compared
 * with the last renewal that it saw, so one that came meanwhile keeps the claim.
 */
final class ClaimExpiry {
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final ClusterStore store;

  /** The boot clock of this node, in milliseconds. */
  private final LongSupplier clock;

  private final Map<String, Seen> seen = new HashMap<>();

  /** A renewal of a node, and when this one knew of it. */
  private record Seen(long renewal, long at) {}

  ClaimExpiry(ClusterStore store, LongSupplier clock) {
    this.store = store;
    this.clock = clock;
  }

  /** Whoever leads next begins with what it sees. */
  void forget() {
    seen.clear();
  }

  void run(ClusterState state, Election.Term term) throws InterruptedException {
    seen.keySet().retainAll(state.claims().values().stream().map(ClusterClaim::node).toList());
    if (state.claims().isEmpty()) {
      return;
    }
    var renewals = new HashMap<String, Long>();
    for (Entry entry : store.list(StoreKeys.RENEWALS, Deadline.after(LIMIT)).entries()) {
      renewals.put(entry.key(), entry.modified());
    }
    long now = clock.getAsLong(); // behind the answer: what it says was so before
    for (Map.Entry<String, ClusterClaim> one : state.claims().entrySet()) {
      String node = one.getValue().node();
      long renewal = renewals.getOrDefault(StoreKeys.RENEWALS + node, 0L);
      Seen last =
          seen.compute(
              node,
              (_, before) ->
                  before == null || before.renewal() != renewal ? new Seen(renewal, now) : before);
      boolean passed = now - last.at() >= one.getValue().takeoverMillis();
      if (passed && !state.alive().containsKey(node)) {
        remove(one.getKey(), node, renewal, state, term);
      }
    }
  }

  private void remove(
      String claim, String node, long renewal, ClusterState state, Election.Term term)
      throws InterruptedException {
    String key = StoreKeys.CLAIMS + claim;
    String renewed = StoreKeys.RENEWALS + node;
    Condition unrenewed =
        Optional.of(renewal)
            .filter(revision -> revision > 0)
            .<Condition>map(revision -> new Condition.Unchanged(renewed, revision))
            .orElseGet(() -> new Condition.Absent(renewed));
    var _ =
        store.transact(
            List.of(
                term.condition(),
                state.unchanged(key),
                new Condition.Absent(StoreKeys.alive(node)),
                unrenewed),
            List.of(new Change.Delete(key)),
            Deadline.after(LIMIT));
  }
}

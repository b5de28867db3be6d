package dev.zlayer.cluster.store;

import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.task.Deadline;
import java.util.List;
import java.util.Optional;

/**
 * Who alone may do something: whoever made the key, as long as it is there. The key belongs to a
 * lease, so it ends with a candidate that is lost.
 */
public final class Election {
  /**
   * A term of office.
   *
   * @param epoch the revision that began it; a later term has a larger one, so that what an earlier
   *     leader still wants can be told apart
   */
  public record Term(String key, String leader, long epoch) {
    /** To be part of every transaction that only the leader may make. */
    public Condition condition() {
      return new Condition.Created(key, epoch);
    }
  }

  private final ClusterStore store;
  private final String key;

  public Election(ClusterStore store, String key) {
    this.store = store;
    this.key = key;
  }

  /** Becomes the leader if there is none; returns whose term it is, which may be another's. */
  public Term campaign(String candidate, long lease, Deadline deadline)
      throws InterruptedException {
    while (true) {
      Optional<Term> present = current(deadline);
      if (present.isPresent()) {
        return present.get();
      }
      var _ =
          store.transact(
              List.of(new Condition.Absent(key)),
              List.of(new Change.Put(key, candidate, lease)),
              deadline);
    }
  }

  /** The present term. */
  public Optional<Term> current(Deadline deadline) throws InterruptedException {
    return store.find(key, deadline).map(Election::term);
  }

  /** Ends the term, if it still is the present one. */
  public void resign(Term term, Deadline deadline) throws InterruptedException {
    var _ = store.transact(List.of(term.condition()), List.of(new Change.Delete(key)), deadline);
  }

  private static Term term(Entry entry) {
    return new Term(entry.key(), entry.value(), entry.created());
  }
}

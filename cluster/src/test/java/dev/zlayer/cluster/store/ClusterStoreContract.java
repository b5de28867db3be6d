package dev.zlayer.cluster.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.ClusterStore.Event;
import dev.zlayer.cluster.store.ClusterStore.News;
import dev.zlayer.cluster.store.ClusterStore.Result;
import dev.zlayer.cluster.store.ClusterStore.Snapshot;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What every store of a cluster does. Each test has keys of its own. */
public abstract class ClusterStoreContract {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private final String base = "test/" + UUID.randomUUID() + "/";

  protected abstract ClusterStore store();

  /** How long a lease lasts that is to end; longer than several changes take. */
  protected Duration lease() {
    return Duration.ofSeconds(2);
  }

  @Test
  void aValueIsFoundWithTheRevisionsThatMadeAndChangedIt() throws Exception {
    assertThat(store().find(base + "a", soon())).isEmpty();

    long made = store().put(base + "a", "one", soon());
    long changed = store().put(base + "a", "two – größer", soon());

    assertThat(changed).isGreaterThan(made);
    assertThat(store().find(base + "a", soon()))
        .contains(new Entry(base + "a", "two – größer", made, changed, 0));
  }

  @Test
  void aPrefixListsItsKeysInOrderAndNoOthers() throws Exception {
    store().put(base + "n/b", "2", soon());
    store().put(base + "n/a", "1", soon());
    store().put(base + "o", "3", soon());

    Snapshot snapshot = store().list(base + "n/", soon());

    assertThat(snapshot.entries()).extracting(Entry::value).containsExactly("1", "2");
    assertThat(snapshot.revision()).isGreaterThanOrEqualTo(snapshot.entries().get(0).modified());
    assertThat(store().list(base + "none/", soon()).entries()).isEmpty();
  }

  @Test
  void aTransactionChangesEverythingOrNothing() throws Exception {
    long revision = store().put(base + "a", "1", soon());
    List<Change> changes =
        List.of(
            new Change.Put(base + "b", "2"),
            new Change.Put(base + "c", "3"),
            new Change.Delete(base + "a"));

    Result refused =
        store()
            .transact(
                List.of(
                    new Condition.Unchanged(base + "a", revision),
                    new Condition.Absent(base + "a")),
                changes,
                soon());
    assertThat(refused.applied()).isFalse();
    assertThat(store().list(base, soon()).entries()).extracting(Entry::value).containsExactly("1");

    Result applied =
        store()
            .transact(
                List.of(
                    new Condition.Unchanged(base + "a", revision),
                    new Condition.Created(base + "a", revision),
                    new Condition.Absent(base + "b")),
                changes,
                soon());
    assertThat(applied.applied()).isTrue();
    Snapshot after = store().list(base, soon());
    assertThat(after.entries()).extracting(Entry::value).containsExactly("2", "3");
    assertThat(after.entries()).extracting(Entry::modified).containsOnly(applied.revision());
  }

  @Test
  void aKeyMadeAgainIsAnotherOne() throws Exception {
    long first = store().put(base + "a", "1", soon());
    store().transact(List.of(), List.of(new Change.DeleteAll(base)), soon());
    store().put(base + "a", "1", soon());

    Result result =
        store()
            .transact(
                List.of(new Condition.Created(base + "a", first)),
                List.of(new Change.Put(base + "a", "2")),
                soon());

    assertThat(result.applied()).isFalse();
  }

  @Test
  void ofManyWhoCompareOnlyOneChanges() throws Exception {
    long revision = store().put(base + "a", "start", soon());
    var applied = new ArrayList<Boolean>();
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < 8; i++) {
      int number = i;
      threads.add(
          Thread.startVirtualThread(
              () -> {
                try {
                  Result result =
                      store()
                          .transact(
                              List.of(new Condition.Unchanged(base + "a", revision)),
                              List.of(new Change.Put(base + "a", "by " + number)),
                              soon());
                  synchronized (applied) {
                    applied.add(result.applied());
                  }
                } catch (InterruptedException _) {
                  Thread.currentThread().interrupt();
                }
              }));
    }
    for (Thread thread : threads) {
      assertThat(thread.join(LIMIT)).isTrue();
    }

    assertThat(applied).hasSize(8).containsOnlyOnce(true);
  }

  @Test
  void keysEndWithTheirLeaseAndNotBefore() throws Exception {
    long kept = store().grant(lease(), soon());
    Deadline early = Deadline.after(lease().minusMillis(500));
    long lost = store().grant(lease(), soon());
    long from = store().list(base, soon()).revision() + 1;
    put("kept", kept);
    put("lost", lost);
    try (var watch = store().watch(base, from)) {
      var removed = new ArrayList<String>();
      Deadline limit = soon();
      while (removed.isEmpty()) {
        assertThat(store().keepAlive(kept, soon())).isTrue();
        for (Event event : events(watch.next(Duration.ofMillis(300)))) {
          if (event instanceof Event.Removed) {
            removed.add(event.key());
          }
        }
        limit.check("waiting for the end of a lease");
      }
      assertThat(early.passed()).as("it ended early").isTrue();
      assertThat(removed).containsExactly(base + "lost");
    }
    assertThat(store().keepAlive(lost, soon())).isFalse();
    assertThat(store().find(base + "kept", soon())).isPresent();
    assertThatThrownBy(() -> put("late", lost)).isInstanceOf(AgentException.Conflict.class);

    store().revoke(kept, soon());
    store().revoke(kept, soon());
    assertThat(store().find(base + "kept", soon())).isEmpty();
  }

  @Test
  void aWatchSeesEveryChangeSinceItsRevisionInOrder() throws Exception {
    long first = store().put(base + "a", "1", soon());
    store().put(base + "a", "2", soon());
    try (var watch = store().watch(base, first)) {
      store().put(base + "b", "3", soon());
      long removed =
          store().transact(List.of(), List.of(new Change.Delete(base + "a")), soon()).revision();
      var seen = new ArrayList<Event>();
      Deadline limit = soon();
      while (seen.size() < 4) {
        seen.addAll(events(watch.next(Duration.ofSeconds(5))));
        limit.check("waiting for changes");
      }

      assertThat(seen)
          .extracting(
              event ->
                  event instanceof Event.Set(var entry) ? entry.value() : "removed " + event.key())
          .containsExactly("1", "2", "3", "removed " + base + "a");
      assertThat(seen.get(3)).isEqualTo(new Event.Removed(base + "a", removed));
      assertThat(events(watch.next(Duration.ofMillis(100)))).isEmpty();
    }
  }

  @Test
  void aWatchFromForgottenHistorySaysSo() throws Exception {
    long first = store().put(base + "a", "1", soon());
    store().put(base + "a", "2", soon());
    long last = store().put(base + "a", "3", soon());
    store().compact(last, soon());
    store().compact(last, soon());

    try (var watch = store().watch(base, first)) {
      assertThat(watch.next(LIMIT)).isEqualTo(new News.Compacted());
    }
    try (var watch = store().watch(base, store().list(base, soon()).revision() + 1)) {
      store().put(base + "a", "4", soon());
      assertThat(events(watch.next(LIMIT))).hasSize(1);
    }
  }

  @Test
  void onlyOneIsElectedAndALaterTermHasALargerEpoch() throws Exception {
    var election = new Election(store(), base + "leader");
    long one = store().grant(Duration.ofSeconds(30), soon());
    long two = store().grant(Duration.ofSeconds(30), soon());

    Election.Term first = election.campaign("one", one, soon());
    assertThat(first.leader()).isEqualTo("one");
    assertThat(election.campaign("two", two, soon())).isEqualTo(first);
    assertThat(write(first)).isTrue();

    store().revoke(one, soon());
    Election.Term second = election.campaign("two", two, soon());
    assertThat(second.leader()).isEqualTo("two");
    assertThat(second.epoch()).isGreaterThan(first.epoch());
    assertThat(write(first)).as("an earlier leader still writes").isFalse();
    assertThat(write(second)).isTrue();

    election.resign(first, soon());
    assertThat(election.current(soon())).contains(second);
    election.resign(second, soon());
    assertThat(election.current(soon())).isEmpty();
  }

  @Test
  void aValueThatIsTooLargeIsRefused() {
    assertThatThrownBy(
            () -> store().put(base + "a", "x".repeat(ClusterStore.MOST_BYTES + 1), soon()))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("larger than the cluster stores at once");
  }

  private boolean write(Election.Term term) throws InterruptedException {
    return store()
        .transact(
            List.of(term.condition()),
            List.of(new Change.Put(base + "work", term.leader())),
            soon())
        .applied();
  }

  private void put(String key, long lease) throws InterruptedException {
    store().transact(List.of(), List.of(new Change.Put(base + key, "x", lease)), soon());
  }

  private static List<Event> events(News news) {
    assertThat(news).isInstanceOf(News.Events.class);
    return ((News.Events) news).events();
  }

  protected static Deadline soon() {
    return Deadline.after(LIMIT);
  }
}

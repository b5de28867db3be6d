package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.ClusterStore.Event;
import dev.zlayer.cluster.store.ClusterStore.News;
import dev.zlayer.cluster.store.ClusterStore.Snapshot;
import dev.zlayer.cluster.store.ClusterStore.Watch;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Follows the state of the cluster: reads it once, and then only what changes. A member that is
 * lost says nothing, so the revision of the store is asked for when nothing was heard; whoever is
 * behind reads everything again.
 */
public final class StateWatch implements Owner.State {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final Duration AGAIN = Duration.ofMillis(500);

  /** Where decisions get the state from. */
  @FunctionalInterface
  public interface Source {
    /** As it was a moment ago; throws while it is not known whether it still is like that. */
    ClusterState state() throws InterruptedException;
  }

  /**
   * How often it looks.
   *
   * @param check without a change, the revision is compared
   * @param behind a change that was made may take so long to arrive
   * @param read everything is read, whatever was heard
   */
  record Times(Duration check, Duration behind, Duration read) {
    static final Times USUAL =
        new Times(Duration.ofSeconds(1), Duration.ofMillis(300), Duration.ofMinutes(1));
  }

  /** What was seen last, for all who decide on it. */
  public static final class View implements Source {
    private final CountDownLatch first = new CountDownLatch(1);
    private volatile Optional<ClusterState> state = Optional.empty();
    private volatile Optional<AgentException> failure = Optional.empty();

    @Override
    public ClusterState state() throws InterruptedException {
      if (!first.await(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AgentException.Unavailable("the state of the cluster was not read yet");
      }
      if (failure.isPresent()) {
        throw failure.get();
      }
      return state.orElseThrow();
    }

    /**
     * The first one that is seen after that revision.
     *
     * @return empty when there is none so soon, also while nothing can be seen
     */
    public synchronized Optional<ClusterState> after(long revision, Deadline deadline)
        throws InterruptedException {
      while (state.filter(seen -> seen.revision() > revision).isEmpty() && !deadline.passed()) {
        TimeUnit.NANOSECONDS.timedWait(this, deadline.left().toNanos());
      }
      return state.filter(seen -> seen.revision() > revision);
    }

    /** What was seen last, whether or not it still is like that. */
    public Optional<ClusterState> last() {
      return state;
    }

    private synchronized void show(ClusterState now) {
      state = Optional.of(now);
      failure = Optional.empty();
      first.countDown();
      notifyAll();
    }

    private void fail(AgentException why) {
      failure = Optional.of(why);
      first.countDown();
    }

    private void confirm() {
      failure = Optional.empty();
    }
  }

  /** All nodes together compare their revisions so often in a second at most. */
  private static final int MOST_CHECKS = 200;

  private static final System.Logger LOG = LazyLogger.of(StateWatch.class);
  private static final int MOST_TOLD = 100;

  private final ClusterStore store;
  private final View view;
  private final Times times;
  private final TreeMap<String, Entry> entries = new TreeMap<>();

  /** What was logged of keys that cannot be read. */
  private final Set<String> told = new HashSet<>();

  private long revision;
  private @Nullable Watch watch;
  private Deadline nextRead = Deadline.after(Duration.ZERO);

  /** Does nothing before its owner starts. */
  public StateWatch(ClusterStore store, View view) {
    this(store, view, Times.USUAL);
  }

  StateWatch(ClusterStore store, View view, Times times) {
    this.store = store;
    this.view = view;
    this.times = times;
  }

  /** How often each of so many nodes compares its revision: many of them would keep etcd busy. */
  public static Duration check(int nodes) {
    Duration usual = Times.USUAL.check();
    return nodes <= MOST_CHECKS ? usual : usual.multipliedBy(nodes).dividedBy(MOST_CHECKS);
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      if (watch == null || nextRead.passed()) {
        read();
      } else {
        follow(watch);
      }
      return Duration.ZERO;
    } catch (AgentException e) {
      view.fail(e);
      close();
      return AGAIN;
    }
  }

  private void read() throws InterruptedException {
    close();
    Snapshot all = store.list(StoreKeys.ALL, Deadline.after(LIMIT));
    entries.clear();
    all.entries().forEach(entry -> entries.put(entry.key(), entry));
    revision = all.revision();
    view.show(ClusterState.of(all, this::unread));
    watch = store.watch(StoreKeys.ALL, revision + 1);
    nextRead = Deadline.after(times.read());
  }

  private void follow(Watch open) throws InterruptedException {
    int nodes = entries.subMap(StoreKeys.MEMBERS, StoreKeys.MEMBERS + Character.MAX_VALUE).size();
    if (heard(open.next(nodes <= MOST_CHECKS ? times.check() : check(nodes)))) {
      return;
    }
    long now = store.list(StoreKeys.LEADER, Deadline.after(LIMIT)).revision();
    if (now < revision) {
      read(); // it was restored from a backup
      return;
    }
    Deadline arriving = Deadline.after(times.behind());
    while (watch != null && revision < now && !arriving.passed()) {
      boolean _ = heard(open.next(arriving.left()));
    }
    if (watch != null && revision < now) {
      read();
    }
    view.confirm();
  }

  private boolean heard(News news) {
    return switch (news) {
      case News.Compacted() -> {
        close();
        yield true;
      }
      case News.Events(List<Event> events) -> {
        for (Event event : events) {
          switch (event) {
            case Event.Set(Entry entry) -> {
              entries.put(entry.key(), entry);
              revision = Math.max(revision, entry.modified());
            }
            case Event.Removed(String key, long at) -> {
              entries.remove(key);
              revision = Math.max(revision, at);
            }
          }
        }
        if (!events.isEmpty()) {
          var all = new Snapshot(List.copyOf(entries.values()), revision);
          view.show(ClusterState.of(all, this::unread));
        }
        yield !events.isEmpty();
      }
    };
  }

  private void unread(String reason) {
    if (told.size() < MOST_TOLD && told.add(reason)) {
      LOG.log(System.Logger.Level.WARNING, reason);
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

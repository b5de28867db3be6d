package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Reply;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads something that has no end from all nodes of a cluster, for one caller: from each as long as
 * it is alive, and again when it is back.
 */
final class NodeFollowers {
  private static final System.Logger LOG = LazyLogger.of(NodeFollowers.class);
  private static final Duration ROUND = Duration.ofMillis(500);

  private final ClusterNode node;
  private final Map<String, Follower> followers = new HashMap<>();
  private final Reply<Boolean> broken = new Reply<>();
  private Set<String> away = Set.of();

  /** Reads one node until that ends; begun again from where it was. */
  @FunctionalInterface
  interface Reading {
    /**
     * Returns when there is no more at the moment.
     *
     * @throws AgentException the node does not answer at the moment
     * @throws IOException the caller has disconnected
     */
    void read(Link link) throws IOException, InterruptedException;
  }

  /** What a reading says about its connection. */
  interface Link {
    /** It is closed when the node is lost. */
    void opened(AutoCloseable connection);

    /** The node has answered. */
    void heard();
  }

  /** For whom it is read. */
  interface Caller {
    /** Other nodes are away now. */
    void away(Set<String> names) throws IOException;

    /**
     * Called twice a second.
     *
     * @param ended whether all nodes have answered that there is no more at the moment
     * @return whether to continue
     */
    boolean beat(boolean ended) throws IOException;
  }

  NodeFollowers(ClusterNode node) {
    this.node = node;
  }

  /**
   * Until the caller has enough, or this node has left the cluster.
   *
   * @param own what is read here, by the names to show when it fails
   * @param others what is read on another node
   */
  void run(Map<String, Reading> own, Function<Peer, Reading> others, Caller caller)
      throws IOException, InterruptedException {
    try (var scope = new TaskScope("follow nodes")) {
      own.forEach((name, reading) -> begin(scope, "", name, reading));
      for (Optional<ClusterNode.Member> member = node.member();
          member.isPresent();
          member = node.member()) {
        follow(scope, member.get().peers(), others);
        announce(member.get().away(), caller);
        if (!caller.beat(followers.values().stream().allMatch(Follower::ended))) {
          return;
        }
        var _ = broken.await(Deadline.after(ROUND));
      }
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private void follow(TaskScope scope, List<Peer> peers, Function<Peer, Reading> others) {
    var alive = new HashSet<String>();
    for (Peer peer : peers) {
      alive.add(peer.id());
      Follower known = followers.get(peer.id());
      if (known == null) {
        begin(scope, peer.id(), peer.name(), others.apply(peer));
      } else {
        known.resume();
      }
    }
    followers.forEach(
        (id, one) -> {
          if (one.remote && !alive.contains(id)) {
            one.suspend();
          }
        });
  }

  private void begin(TaskScope scope, String id, String name, Reading reading) {
    boolean remote = !id.isEmpty();
    var follower = new Follower(name, remote, reading);
    followers.put(remote ? id : "own " + name, follower);
    scope.fork(
        () -> {
          try {
            follower.follow();
          } catch (IOException e) {
            broken.fail(new UncheckedIOException(e));
          } catch (RuntimeException e) {
            broken.fail(e);
          }
          return true;
        });
  }

  private void announce(List<String> lost, Caller caller) throws IOException {
    var now = new TreeSet<>(lost);
    followers.values().stream().filter(Follower::failing).forEach(one -> now.add(one.name));
    if (!now.equals(away)) {
      away = now;
      caller.away(now);
    }
  }

  /** One node. */
  private static final class Follower implements Link {
    final String name;
    final boolean remote;
    private final Reading reading;
    private boolean alive = true;
    private boolean failing;
    private boolean ended;
    private @Nullable AutoCloseable connection;

    Follower(String name, boolean remote, Reading reading) {
      this.name = name;
      this.remote = remote;
      this.reading = reading;
    }

    void follow() throws IOException, InterruptedException {
      while (true) {
        awaitAlive();
        try {
          reading.read(this);
          end(false);
        } catch (AgentException _) {
          end(true);
        }
        Pauses.REAL.pause(ROUND);
      }
    }

    private synchronized void awaitAlive() throws InterruptedException {
      while (!alive) {
        wait();
      }
    }

    private synchronized void end(boolean failed) {
      connection = null;
      failing = failed;
      ended = !failed;
    }

    synchronized void resume() {
      alive = true;
      notifyAll();
    }

    synchronized void suspend() {
      alive = false;
      close();
    }

    @Override
    public synchronized void opened(AutoCloseable opened) {
      connection = opened;
      if (!alive) {
        close();
      }
    }

    @Override
    public synchronized void heard() {
      failing = false;
      ended = false;
    }

    private void close() {
      AutoCloseable open = connection;
      connection = null;
      if (open != null) {
        try {
          open.close();
        } catch (Exception e) { // what is not needed any more may break
          LOG.log(System.Logger.Level.DEBUG, "closing the connection to " + name, e);
        }
      }
    }

    /** One that is not alive is named as such. */
    synchronized boolean failing() {
      return alive && failing;
    }

    synchronized boolean ended() {
      return ended || !alive;
    }
  }
}

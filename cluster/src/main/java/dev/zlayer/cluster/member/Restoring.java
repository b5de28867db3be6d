package dev.zlayer.cluster.member;

import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * Begins the cluster anew from a copy of its state, with this node alone storing it: after most of
 * those that did are lost, or to return to an earlier state.
 */
public final class Restoring {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  /** It looks once a second. */
  private static final Duration WATCHDOG = Duration.ofSeconds(2);

  private Restoring() {}

  /**
   * Refuses what would do harm.
   *
   * @param force also when the cluster answers
   */
  public static void check(Cluster cluster, boolean force) throws InterruptedException {
    if (cluster.external().isPresent()) {
      throw new AgentException.Conflict(
          "the state of this cluster is in an etcd that others run; restore it with that etcd's own"
              + " tools ('etcdctl snapshot restore'), and restart the agents after that");
    }
    if (!cluster.identity().server()) {
      throw new AgentException.Conflict(
          "this node does not store the state of the cluster; restore it on one that does");
    }
    if (!force && cluster.answers()) {
      throw new AgentException.Conflict(
          "the cluster answers; to return to an earlier state nevertheless, let all other nodes"
              + " leave it and use --force");
    }
  }

  /**
   * Replaces the state while the cluster is closed; it can be opened again, also when this fails.
   *
   * <p>The state may give a single instance to another node than the one that runs it by now. No
   * claim can be renewed any more, so all have ended after their time; nobody sees the state
   * before. When this is killed meanwhile, nothing was replaced.
   *
   * @param snapshot what {@link Cluster#backup} wrote; the state as this node has it when absent
   * @param claims how long a single instance may run without the cluster
   */
  public static void restore(
      Cluster.Host host, Optional<Path> snapshot, Duration claims, Pauses pauses)
      throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    var files = new ClusterFiles(host.directory());
    NodeIdentity alone = files.read().alone();
    EtcdServer server = Servers.process(host, files, alone);
    server.stop(deadline);
    Deadline running = Deadline.after(claims.plus(WATCHDOG));
    server.restore(snapshot, deadline);
    pauses.pause(running.left());
    server.replace();
    files.write(alone);
  }
}

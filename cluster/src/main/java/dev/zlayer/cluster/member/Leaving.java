package dev.zlayer.cluster.member;

import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/** How a node ends to belong to its cluster: it leaves, or is removed by another one. */
final class Leaving {
  /** Removing a member of etcd waits as adding one does. */
  private static final Duration REMOVAL = Duration.ofSeconds(25);

  private final NodeIdentity identity;
  private final Backend backend;
  private final ClusterStore store;
  private final NodeUsers users;
  private final Servers servers;
  private final Nodes nodes;

  Leaving(NodeIdentity identity, Backend backend, NodeUsers users, Servers servers, Nodes nodes) {
    this.identity = identity;
    this.backend = backend;
    this.store = backend.store();
    this.users = users;
    this.servers = servers;
    this.nodes = nodes;
  }

  /** Refuses one that is alive, unless it is forced. */
  void remove(String name, boolean force) throws InterruptedException {
    Cluster.Node node = nodes.find(name);
    if (node.self()) {
      throw new AgentException.Conflict(
          "node '%s' is this one; run 'zlayer cluster leave'".formatted(name));
    }
    if (node.facts().isPresent() && !force) {
      throw new AgentException.Conflict(
          "node '%s' is alive; run 'zlayer cluster leave' on it, or remove it with --force"
              .formatted(name));
    }
    forget(node.node(), Deadline.after(REMOVAL));
  }

  private void forget(NodeRecord node, Deadline deadline) throws InterruptedException {
    if (node.server()) {
      servers.remove(node, deadline);
    }
    Admission.remove(store, users, node.id(), identity.id(), deadline);
  }

  /**
   * Has the cluster forget this node; the last one ends it.
   *
   * @param decides whether this node may do that itself
   * @param others addresses of nodes that may
   */
  void leave(boolean decides, List<String> others, Supplier<SSLContext> tls)
      throws InterruptedException {
    List<Cluster.Node> all = nodes.list();
    boolean alone = all.stream().allMatch(Cluster.Node::self);
    boolean lastServer = all.stream().noneMatch(node -> !node.self() && node.node().server());
    if (!alone && identity.server() && lastServer) {
      throw new AgentException.Conflict(
          "this is the only node that %s; let the other nodes leave first, or join another one with"
                  .formatted(
                      backend.external().isPresent()
                          ? "can admit others to the cluster"
                          : "stores the state of the cluster")
              + " --server");
    }
    if (alone) {
      backend.clear(identity.cluster());
    } else if (decides) {
      forget(nodes.find(identity.id()).node(), Deadline.after(REMOVAL));
    } else {
      askToForget(others, tls.get());
    }
  }

  private void askToForget(List<String> others, SSLContext tls) throws InterruptedException {
    AgentException last =
        new AgentException.Network("no node that stores the state of the cluster is known");
    for (String server : others) {
      try {
        JoinClient.leave(
            NodeIdentity.url(server, NodeIdentity.AGENT_PORT),
            tls,
            identity.id(),
            Deadline.after(REMOVAL));
        return;
      } catch (AgentException e) {
        if (RemovalCheck.removed(List.of(server), tls)) {
          return; // it ends connections of a node that it has removed
        }
        last = e;
      }
    }
    throw last;
  }
}

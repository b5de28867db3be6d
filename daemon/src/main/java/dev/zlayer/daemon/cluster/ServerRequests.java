package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.member.Cluster;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.error.AgentException;
import java.util.Optional;

/** Requests that this node has no right to fulfil, as it does not store the state. */
public final class ServerRequests {
  private ServerRequests() {}

  /**
   * Has a node that does answer.
   *
   * @param but a node that is not asked
   */
  public static ApiResponse passOn(ClusterNode cluster, ApiRequest call, Optional<String> but)
      throws InterruptedException {
    if (call.fromNode()) {
      throw new AgentException.Conflict(
          "this node does not store the state of the cluster; ask one that does");
    }
    Peers calls = cluster.member().orElseThrow().calls();
    AgentException last =
        new AgentException.Unavailable(
            "none of the nodes that store the state of the cluster is alive");
    for (Cluster.Node node : cluster.cluster().nodes()) {
      NodeRecord one = node.node();
      if (one.server() && node.facts().isPresent() && !but.equals(Optional.of(one.id()))) {
        try {
          return calls.forward(new Peer(one.id(), one.name(), one.address()), call, call.target());
        } catch (AgentException.Network e) {
          last = e;
        }
      }
    }
    throw last;
  }
}

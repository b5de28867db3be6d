package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode.Member;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One volume or network of a cluster: on the node that is named, else on this one, else on the only
 * other one that has it.
 */
final class ClusterStorage {
  private static final String NODE = "node";
  private static final String VOLUMES = "/volumes/{name}";
  private static final String NETWORKS = "/networks/{name}";

  private ClusterStorage() {}

  static boolean handles(Route route) {
    String template = route.template();
    return template.equals(VOLUMES)
        || template.equals(VOLUMES + "/archive")
        || (route.method().equals("GET") && template.equals(NETWORKS));
  }

  static Route described(Route route) {
    return route.with(
        NODE, "In a cluster: the node (default: this one, else the only one that has it).");
  }

  /** Which node answers. */
  static ApiResponse answer(
      Route route, Optional<Member> member, RouteHandler local, RouteHandler list, ApiRequest call)
      throws InterruptedException {
    Optional<String> wanted = call.query(NODE);
    if (member.isEmpty()) {
      if (wanted.isPresent() && !call.fromNode()) {
        throw new AgentException.InvalidSpec("the parameter 'node' is for nodes of a cluster");
      }
      return local.answer(call);
    }
    Member here = member.get();
    if (wanted.isPresent()) {
      return on(here, wanted.get(), local, call);
    }
    String name = call.path("name");
    String kind = route.template().startsWith(VOLUMES) ? "volume" : "network";
    if (here.peers().isEmpty() || has(own(list, call), name)) {
      return local.answer(call);
    }
    Peers.Answers answers = here.calls().getAll(here.peers(), "/" + kind + "s", call.deployment());
    List<Peer> owners =
        answers.found().entrySet().stream()
            .filter(one -> has(one.getValue(), name))
            .map(Map.Entry::getKey)
            .toList();
    if (owners.size() > 1) {
      throw new AgentException.InvalidSpec(
          "%s '%s' is on several nodes (%s); choose one with --node"
              .formatted(
                  kind,
                  name,
                  String.join(", ", owners.stream().map(Peer::name).sorted().toList())));
    }
    return owners.isEmpty()
        ? ClusterRoutes.unlessElsewhere(local, call, answers)
        : here.calls().forwardWhileWaiting(owners.getFirst(), call, call.target());
  }

  private static ApiResponse on(Member here, String node, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    if (node.equals(here.name()) || node.equals(here.id())) {
      return local.answer(call);
    }
    for (Peer peer : here.peers()) {
      if (node.equals(peer.name()) || node.equals(peer.id())) {
        return here.calls().forwardWhileWaiting(peer, call, call.target());
      }
    }
    if (here.away().contains(node)) {
      throw new AgentException.Unavailable("node '%s' does not answer".formatted(node));
    }
    throw new AgentException.NotFound("node '%s'".formatted(node), "not in this cluster");
  }

  private static Json own(RouteHandler list, ApiRequest call) throws InterruptedException {
    return list.answer(call.asking(Map.of(), ApiRequest.JSON)) instanceof ApiResponse.Whole whole
        ? JsonText.parse(whole.body())
        : Json.of(List.of());
  }

  private static boolean has(Json list, String name) {
    return list.items().stream().anyMatch(one -> one.at("name").string().equals(Optional.of(name)));
  }
}

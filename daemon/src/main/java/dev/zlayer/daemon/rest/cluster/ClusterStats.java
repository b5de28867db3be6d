package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.ClusterNode.Member;
import dev.zlayer.daemon.cluster.PeerLines;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What the containers of all nodes use, as it changes: the lines of each node with its name. It
 * ends when no container runs on any node.
 */
final class ClusterStats {
  /** A node with containers has a line every second. */
  private static final Duration SILENCE = Duration.ofSeconds(10);

  private final Member member;
  private final RouteHandler local;
  private final ApiRequest call;

  private ClusterStats(Member member, RouteHandler local, ApiRequest call) {
    this.member = member;
    this.local = local;
    this.call = call;
  }

  static ApiResponse answer(ClusterNode node, Member member, RouteHandler local, ApiRequest call) {
    var stats = new ClusterStats(member, local, call);
    Optional<String> _ = call.query("deployment"); // another's is refused before the first line
    return new ApiResponse.Lines(
        out -> {
          out.flush();
          new NodeFollowers(node)
              .run(
                  Map.of(member.name(), _ -> stats.own(out)),
                  peer -> link -> stats.other(peer, link, out),
                  caller(out));
        });
  }

  private static NodeFollowers.Caller caller(ApiResponse.Lined out) {
    return new NodeFollowers.Caller() {
      @Override
      public void away(Set<String> names) throws IOException {
        out.line(Json.object().put("type", "nodes").put("away", List.copyOf(names)).build());
      }

      @Override
      public boolean beat(boolean ended) {
        return !ended;
      }
    };
  }

  private void own(ApiResponse.Lined out) throws IOException, InterruptedException {
    if (local.answer(call) instanceof ApiResponse.Lines lines) {
      lines
          .writer()
          .write(
              new ApiResponse.Lined() {
                @Override
                public void flush() {
                  // each line is sent at once
                }

                @Override
                public void add(Json json) throws IOException {
                  line(json);
                }

                @Override
                public void line(Json json) throws IOException {
                  out.line(ClusterStatus.on(member.name(), json));
                }
              });
    }
  }

  private void other(Peer peer, NodeFollowers.Link link, ApiResponse.Lined out)
      throws IOException, InterruptedException {
    String target = call.target().substring(Peers.BASE.length());
    try (PeerLines lines =
        member.calls().open(peer, target, ApiRequest.LINES, call.deployment(), SILENCE)) {
      link.opened(lines);
      for (Optional<String> line = lines.next(); line.isPresent(); line = lines.next()) {
        Json reading = JsonText.parse(line.get());
        if (reading.at("type").string().filter("error"::equals).isPresent()) {
          throw new AgentException.Network(
              "node '%s': %s".formatted(peer.name(), reading.at("detail").string().orElse("?")));
        }
        link.heard();
        out.line(ClusterStatus.on(peer.name(), reading));
      }
    }
  }
}

package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.NodeSecrets;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.deploy.SecretGrants;
import dev.zlayer.cluster.deploy.StateWatch;
import dev.zlayer.cluster.member.Cluster;
import dev.zlayer.cluster.member.ClusterFiles;
import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.cluster.secret.SecretSeal;
import dev.zlayer.cluster.secret.StoredSecrets;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * The secrets of the cluster as this node has access to them: by itself when it stores the state,
 * else through a node that does.
 */
public final class ClusterSecrets implements NodeSecrets.Opener {
  /** Where nodes ask for what they need; on the listener of the cluster alone. */
  static final String ROUTE = "/cluster/secrets";

  private final Cluster cluster;
  private final StateWatch.Source state;
  private final StoredSecrets stored;
  private final Optional<SecretSeal> seal;

  /** What a node asks for. */
  public record Wanted(String deployment) {}

  /** What it gets. */
  public record Given(List<StoredSecrets.Value> secrets) {}

  ClusterSecrets(Cluster cluster, Path directory, StateWatch.Source state) {
    this.cluster = cluster;
    this.state = state;
    this.stored = new StoredSecrets(cluster.store(), InstantSource.system());
    this.seal =
        new ClusterFiles(directory)
            .signing()
            .map(authority -> SecretSeal.of(cluster.identity().cluster(), authority.key()));
  }

  public List<StoredSecrets.Listed> list() throws InterruptedException {
    return stored.list();
  }

  /** Whether this node can seal and open. */
  public boolean opens() {
    return seal.isPresent();
  }

  public StoredSecrets.Listed set(SecretId id, byte[] value) throws InterruptedException {
    return stored.set(id, value, seal.orElseThrow(ClusterSecrets::unable));
  }

  public void remove(SecretId id) throws InterruptedException {
    stored.remove(id);
  }

  private static AgentException unable() {
    return new AgentException.Conflict(
        "this node cannot open secrets of the cluster; ask one that stores the state");
  }

  /** Has a node that can seal and open do something. */
  public ApiResponse.Whole send(HttpRequest request) throws InterruptedException {
    AgentException last =
        new AgentException.Unavailable(
            "none of the nodes that store the state of the cluster is alive; secrets are set and"
                + " given by them");
    for (Peer server : servers()) {
      try {
        return new Peers(cluster.tls()).send(server, request);
      } catch (AgentException.Network | AgentException.Timeout e) {
        last = e;
      }
    }
    throw last;
  }

  /** Each node begins with another one. */
  private List<Peer> servers() throws InterruptedException {
    ClusterState now = state.state();
    String own = cluster.identity().id();
    var servers = new ArrayList<Peer>();
    now.members()
        .values()
        .forEach(
            member -> {
              if (member.server()
                  && !member.id().equals(own)
                  && now.alive().containsKey(member.id())) {
                servers.add(new Peer(member.id(), member.name(), member.address()));
              }
            });
    if (!servers.isEmpty()) {
      Collections.rotate(servers, Math.floorMod(own.hashCode(), servers.size()));
    }
    return servers;
  }

  /** Answers another node: with what it needs, whatever it says. */
  ApiResponse give(ApiRequest call) throws InterruptedException {
    String node = call.node().orElseThrow();
    var grants =
        new SecretGrants(
            cluster.store(), seal.orElseThrow(ClusterSecrets::unable), InstantSource.system());
    return ApiResponse.json(
        RecordJson.write(new Given(grants.of(node, call.body(Wanted.class).deployment()))));
  }

  @Override
  public List<StoredSecrets.Value> ask(String deployment) throws InterruptedException {
    if (seal.isPresent()) {
      return new SecretGrants(cluster.store(), seal.get(), InstantSource.system())
          .of(cluster.identity().id(), deployment);
    }
    String body = JsonText.print(RecordJson.write(new Wanted(deployment)));
    ApiResponse.Whole answer = send(HttpRequest.of("POST", Peers.BASE + ROUTE).withJson(body));
    Json json = JsonText.parse(answer.body());
    if (answer.status() != 200) {
      throw new AgentException.Unavailable(
          json.at("detail").string().orElse("status " + answer.status()));
    }
    return RecordJson.read(json, Given.class).secrets();
  }
}

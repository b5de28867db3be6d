package dev.zlayer.cluster.member;

import dev.zlayer.cluster.etcd.EtcdClient;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.etcd.EtcdMembers;
import dev.zlayer.cluster.etcd.EtcdMembers.Member;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/** The nodes that store the state of the cluster, each asked itself. */
final class Servers {
  /** In place of the name of a node. */
  private static final String EXTERNAL = "external";

  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration MEMBER_LIMIT = Duration.ofSeconds(2);

  private final Backend backend;
  private final EtcdMembers members;
  private final ClusterFiles files;
  private final Supplier<SSLContext> tls;
  private final Optional<EtcdConfig.Login> login;

  Servers(
      Backend backend,
      ClusterFiles files,
      Supplier<SSLContext> tls,
      Optional<EtcdConfig.Login> login) {
    this.backend = backend;
    this.members = backend.members();
    this.files = files;
    this.tls = tls;
    this.login = login;
  }

  /** The process of this node. */
  static EtcdServer process(Cluster.Host host, ClusterFiles files, NodeIdentity identity) {
    Map<String, URI> known = new LinkedHashMap<>();
    identity.members().forEach((name, address) -> known.put(name, URI.create(address)));
    return new EtcdServer(
        new EtcdServer.Settings(
            host.etcd(),
            files.etcd(),
            identity.id(),
            identity.client(),
            identity.peer(),
            new EtcdServer.Tls(
                files.certificate(),
                files.key(),
                files.authority(),
                files.revoked(),
                NodeIdentity.SERVERS),
            identity.cluster(),
            known,
            identity.joins()),
        host.pauses());
  }

  /** All of them; names of nodes by their ids. */
  List<Cluster.Server> list(Map<String, String> names, Deadline deadline)
      throws InterruptedException {
    if (backend.external().isPresent()) {
      return external(backend.external().get());
    }
    var servers = new ArrayList<Cluster.Server>();
    for (Member member : members.list(deadline)) {
      servers.add(server(member, names.getOrDefault(member.name(), member.name())));
    }
    return servers;
  }

  /** Members of an etcd that others run, as far as they are known. */
  private List<Cluster.Server> external(ExternalEtcd etcd) throws InterruptedException {
    var found = new ArrayList<Cluster.Server>();
    for (URI endpoint : etcd.uris()) {
      try (var one = Backend.client(etcd, List.of(endpoint), files)) {
        EtcdMembers.Status status = new EtcdMembers(one).status(Deadline.after(MEMBER_LIMIT));
        found.add(external(endpoint, Optional.of(status), Optional.empty()));
      } catch (AgentException e) {
        found.add(
            external(endpoint, Optional.empty(), Optional.of(String.valueOf(e.getMessage()))));
      }
    }
    return found;
  }

  private static Cluster.Server external(
      URI endpoint, Optional<EtcdMembers.Status> status, Optional<String> problem) {
    return new Cluster.Server(
        EXTERNAL,
        endpoint.getRawAuthority(),
        false,
        status.filter(one -> one.leader().equals(one.member())).isPresent(),
        status.map(EtcdMembers.Status::version),
        status.map(EtcdMembers.Status::size).orElse(0L),
        problem);
  }

  private Cluster.Server server(Member member, String name) throws InterruptedException {
    String address = member.peers().getFirst().getHost();
    if (member.clients().isEmpty()) {
      return silent(member, name, "it has not started yet");
    }
    // one without a leader can say so, and lets nobody log in
    try (var one = client(member, Optional.empty())) {
      EtcdMembers.Status status = new EtcdMembers(one).status(Deadline.after(MEMBER_LIMIT));
      return new Cluster.Server(
          name,
          address,
          member.learner(),
          status.leader().equals(member.id()),
          Optional.of(status.version()),
          status.size(),
          Optional.empty());
    } catch (AgentException e) {
      return silent(member, name, String.valueOf(e.getMessage()));
    }
  }

  private static Cluster.Server silent(Member member, String name, String problem) {
    return new Cluster.Server(
        name,
        member.peers().getFirst().getHost(),
        member.learner(),
        false,
        Optional.empty(),
        0,
        Optional.of(problem));
  }

  /** Has a node store nothing any more; a member that is removed is not asked from then on. */
  void remove(NodeRecord node, Deadline deadline) throws InterruptedException {
    if (backend.external().isPresent()) {
      return;
    }
    URI peer = NodeIdentity.peer(node.address());
    List<Member> all = members.list(deadline);
    List<Member> others =
        all.stream().filter(member -> !member.learner() && !member.peers().contains(peer)).toList();
    if (others.isEmpty()) {
      throw new AgentException.Conflict(
          "no other node stores the state of the cluster yet; try again in a moment");
    }
    backend
        .client()
        .endpoints(others.stream().flatMap(member -> member.clients().stream()).toList());
    for (Member member : all) {
      if (member.peers().contains(peer)) {
        leadElsewhere(member, others.getFirst());
        members.remove(member.id(), deadline);
      }
    }
  }

  /**
   * A leader that removes itself may end before the others know of it; with two members the one
   * that is left could then decide nothing.
   */
  private void leadElsewhere(Member leaving, Member other) throws InterruptedException {
    if (leaving.clients().isEmpty()) {
      return;
    }
    try (var one = client(leaving, login)) {
      var asked = new EtcdMembers(one);
      if (asked.status(Deadline.after(MEMBER_LIMIT)).leader().equals(leaving.id())) {
        asked.transferLeadership(other.id(), Deadline.after(LIMIT));
      }
    } catch (AgentException.Network | AgentException.Timeout _) {
      // it does not answer, so it does not lead
    }
  }

  private EtcdClient client(Member member, Optional<EtcdConfig.Login> user) {
    return EtcdClient.open(new EtcdConfig(member.clients(), Optional.of(tls.get()), user));
  }
}

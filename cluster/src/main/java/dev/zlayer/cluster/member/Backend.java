package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.etcd.EtcdClient;
import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.etcd.EtcdMembers;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.etcd.EtcdStore;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.PrefixedStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * By what a node reaches the state of its cluster: members of etcd on nodes, one of them here
 * perhaps, or an etcd that others run.
 *
 * @param server the process on this node
 * @param external which all nodes use instead
 */
record Backend(
    EtcdClient client,
    ClusterStore store,
    EtcdMembers members,
    Optional<EtcdServer> server,
    Optional<ExternalEtcd> external) {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** One of these begins each key of a cluster; others may have keys like /zlayerapp. */
  private static final List<String> OWN = List.of("/zlayer/", "/zlayer-");

  static Backend of(Cluster.Host host, ClusterFiles files, NodeIdentity identity, SSLContext tls) {
    Optional<ExternalEtcd> external = files.readExternal();
    if (external.isPresent()) {
      EtcdClient client = client(external.get(), external.get().uris(), files);
      return new Backend(
          client,
          new PrefixedStore(new EtcdStore(client), external.get().prefix()),
          new EtcdMembers(client),
          Optional.empty(),
          external);
    }
    List<URI> endpoints = identity.endpoints().stream().map(URI::create).toList();
    EtcdClient client =
        EtcdClient.open(new EtcdConfig(endpoints, Optional.of(tls), files.login(identity)));
    return new Backend(
        client,
        new EtcdStore(client),
        new EtcdMembers(client),
        identity.server() ? Optional.of(Servers.process(host, files, identity)) : Optional.empty(),
        Optional.empty());
  }

  /** The users of etcd, for a node that can change them. */
  NodeUsers users(ClusterFiles files, NodeIdentity identity) {
    Optional<Authority> authority = files.signing();
    return files.settings().hasUsers() && authority.isPresent()
        ? NodeUsers.of(client, identity.cluster(), authority.get().key())
        : NodeUsers.NONE;
  }

  static EtcdClient client(ExternalEtcd etcd, List<URI> endpoints, ClusterFiles files) {
    return EtcdClient.open(
        new EtcdConfig(endpoints, Optional.of(files.externalTls(etcd)), etcd.login()));
  }

  /** The members, where nodes run them. */
  Optional<EtcdMembers> own() {
    return external.isPresent() ? Optional.empty() : Optional.of(members);
  }

  /** After a beginning that failed: it may have begun although nobody said so. */
  void discard(String cluster, Exception reason) throws InterruptedException {
    server
        .flatMap(EtcdServer::lastError)
        .ifPresent(line -> reason.addSuppressed(new IllegalStateException("etcd: " + line)));
    try {
      clear(cluster);
    } catch (AgentException left) {
      reason.addSuppressed(left);
    }
  }

  /** Ends the process of this node, if there is one. */
  void stop() throws InterruptedException {
    if (server.isPresent()) {
      server.get().stop(Deadline.after(LIMIT));
    }
  }

  /** Refuses an etcd that cannot be used, or keeps another cluster, before anything is changed. */
  static void probe(ExternalEtcd etcd, ClusterFiles files) throws InterruptedException {
    try (EtcdClient client = client(etcd, etcd.uris(), files)) {
      var store = new PrefixedStore(new EtcdStore(client), etcd.prefix());
      Deadline deadline = Deadline.after(LIMIT);
      if (store.find(StoreKeys.CLUSTER, deadline).isPresent()
          || !store.list(StoreKeys.MEMBERS, deadline).entries().isEmpty()) {
        throw etcd.taken();
      }
    }
  }

  /** Writes what a new cluster begins with; it is the only one there. */
  void begin(ClusterSettings settings, List<Change> changes, Deadline deadline)
      throws InterruptedException {
    var all = new ArrayList<>(changes);
    all.add(new Change.Put(StoreKeys.CLUSTER, settings.text()));
    boolean first =
        store.transact(List.of(new Condition.Absent(StoreKeys.CLUSTER)), all, deadline).applied();
    if (!first) {
      throw external
          .map(ExternalEtcd::taken)
          .orElseGet(() -> new AgentException.Conflict("the cluster has begun already"));
    }
  }

  /**
   * Removes all that an etcd of others has of this cluster, which ends. Etcd on a node ends with
   * that node.
   */
  void clear(String cluster) throws InterruptedException {
    if (external.isEmpty()) {
      return;
    }
    Deadline deadline = Deadline.after(LIMIT);
    Optional<ClusterStore.Entry> own =
        store
            .find(StoreKeys.CLUSTER, deadline)
            .filter(found -> ClusterSettings.parse(found.value()).id().equals(cluster));
    if (own.isPresent()) {
      var _ =
          store.transact(
              List.of(new Condition.Created(own.get().key(), own.get().created())),
              OWN.stream().<Change>map(Change.DeleteAll::new).toList(),
              deadline);
    }
  }
}

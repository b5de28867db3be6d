package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.etcd.EtcdMembers;
import dev.zlayer.cluster.etcd.EtcdMembers.Member;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Admits nodes to the cluster with a certificate each, and says which ones end with a node. */
final class Admission {
  /** So many nodes store the state, unless the operator wants more. */
  private static final int SERVERS = 3;

  private static final Duration LIMIT = Duration.ofSeconds(10);

  /** Of a transaction, which has more to do. */
  private static final int MOST_REVOKED = 100;

  private final NodeIdentity identity;
  private final ClusterFiles files;
  private final ClusterStore store;
  private final EtcdMembers members;
  private final NodeUsers users;
  private final InstantSource clock;

  Admission(
      NodeIdentity identity,
      ClusterFiles files,
      ClusterStore store,
      EtcdMembers members,
      NodeUsers users,
      InstantSource clock) {
    this.identity = identity;
    this.files = files;
    this.store = store;
    this.members = members;
    this.users = users;
    this.clock = clock;
  }

  JoinToken token(Duration lifetime, Deadline deadline) throws InterruptedException {
    var token = JoinToken.create(Pem.fingerprint(files.authorityCertificate()));
    long lease = store.grant(lifetime, deadline);
    var _ =
        store.transact(
            List.of(),
            List.of(new Change.Put(StoreKeys.token(token.id()), token.digest(), lease)),
            deadline);
    return token;
  }

  /**
   * Admits one.
   *
   * @param endpoints of etcd, for the new node
   */
  JoinRequest.Answer admit(JoinRequest request, List<String> endpoints, Deadline deadline)
      throws InterruptedException {
    Authority authority = authority();
    JoinToken token = JoinToken.parse(request.token());
    PublicKey key = Pem.publicKey(request.key());
    Entry known =
        store
            .find(StoreKeys.token(token.id()), deadline)
            .filter(entry -> JoinToken.equal(entry.value(), token.digest()))
            .orElseThrow(Admission::spent);
    Condition turn = turn(deadline);
    List<NodeRecord> nodes = nodes(deadline);
    String address = Joining.address(request.address()).getHostAddress();
    Joining.checkFree(nodes, request.name(), address);
    long servers = nodes.stream().filter(NodeRecord::server).count();
    boolean stores = request.server().orElse(servers < SERVERS);
    Optional<ExternalEtcd> external = files.readExternal();
    if (stores && external.isEmpty()) {
      request.lacks(JoinRequest.ETCD); // before the token is spent
    }
    boolean encrypt = files.settings().encrypt();
    if (encrypt) {
      request.lacks(JoinRequest.WIREGUARD);
    }
    Instant now = clock.instant();
    String id = Joining.newId();
    var record = new NodeRecord(id, request.name(), address, stores, now, Map.of());
    X509Certificate certificate = certificate(authority, record, key, now);
    boolean admitted =
        store
            .transact(
                List.of(
                    turn,
                    new Condition.Unchanged(known.key(), known.modified()),
                    new Condition.Absent(StoreKeys.member(id))),
                List.of(
                    new Change.Delete(known.key()),
                    new Change.Put(StoreKeys.ADMISSION, id),
                    issued(id, certificate),
                    new Change.Put(StoreKeys.member(id), record.text())),
                deadline)
            .applied();
    if (!admitted) {
      deadline.check("admitting a node");
      // another one was admitted meanwhile, or the token is spent by now
      return admit(request, endpoints, deadline);
    }
    Map<String, String> peers =
        stores && external.isEmpty()
            ? orWithdraw(record, () -> learner(record, deadline))
            : Map.of();
    Optional<String> password =
        stores
            ? Optional.empty()
            : orWithdraw(record, () -> users.admit(id, NodeIdentity.serial(certificate), deadline));
    return new JoinRequest.Answer(
        identity.cluster(),
        id,
        stores,
        Pem.of(certificate),
        Pem.of(authority.certificate()),
        stores ? Optional.of(Pem.of(authority.key())) : Optional.empty(),
        endpoints,
        peers,
        external,
        Optional.of(encrypt),
        Optional.of(files.settings().hasUsers()),
        password);
  }

  private Authority authority() {
    return files
        .signing()
        .orElseThrow(
            () -> new AgentException.Conflict("this node cannot admit others to the cluster"));
  }

  static X509Certificate certificate(
      Authority authority, NodeRecord node, PublicKey key, Instant now) {
    return authority.issue(
        key,
        NodeIdentity.names(node.id(), node.server()),
        List.of(Joining.address(node.address())),
        now);
  }

  private List<NodeRecord> nodes(Deadline deadline) throws InterruptedException {
    return store.list(StoreKeys.MEMBERS, deadline).entries().stream()
        .map(entry -> NodeRecord.parse(entry.value()))
        .toList();
  }

  /** That nobody else is admitted while names and servers are counted. */
  private Condition turn(Deadline deadline) throws InterruptedException {
    return store
        .find(StoreKeys.ADMISSION, deadline)
        .<Condition>map(last -> new Condition.Unchanged(last.key(), last.modified()))
        .orElseGet(() -> new Condition.Absent(StoreKeys.ADMISSION));
  }

  private interface Step<T> {
    T take() throws InterruptedException;
  }

  /** A node for which this fails is not admitted. */
  private <T> T orWithdraw(NodeRecord record, Step<T> step) throws InterruptedException {
    try {
      return step.take();
    } catch (RuntimeException | InterruptedException e) {
      try {
        Deadline deadline = Deadline.after(LIMIT);
        users.removeAll(record.id(), deadline);
        var _ =
            store.transact(
                List.of(),
                List.of(
                    new Change.Delete(StoreKeys.member(record.id())),
                    new Change.DeleteAll(StoreKeys.certificates(record.id()))), // nobody has it
                deadline);
      } catch (AgentException left) {
        e.addSuppressed(left); // why it was not admitted is what its operator has to know
      }
      throw e;
    }
  }

  /** The members by name, with the new one. */
  private Map<String, String> learner(NodeRecord record, Deadline deadline)
      throws InterruptedException {
    Map<String, String> peers = new LinkedHashMap<>();
    for (Member member : members.addLearner(NodeIdentity.peer(record.address()), deadline)) {
      String peer = member.peers().getFirst().toString();
      peers.put(member.name().isEmpty() ? record.id() : member.name(), peer);
    }
    return peers;
  }

  private static AgentException spent() {
    return new AgentException.Conflict(
        "the join token is unknown, was used, or has expired; make another one with"
            + " 'zlayer cluster token'");
  }

  /** Remembers a certificate, so that it can be revoked. */
  static Change issued(String node, X509Certificate certificate) {
    return new Change.Put(
        StoreKeys.certificates(node) + NodeIdentity.serial(certificate),
        certificate.getNotAfter().toInstant().toString());
  }

  /**
   * Removes a node with all that is about it, and revokes its certificates, however many it has had
   * signed. Its users are removed before what they are known by.
   *
   * @param by the node that does it; when that is the same one, nobody answers it any more
   */
  static void remove(ClusterStore store, NodeUsers users, String node, String by, Deadline deadline)
      throws InterruptedException {
    users.removeAll(node, deadline);
    List<Change> certificates = revocation(store, node, deadline);
    while (certificates.size() > MOST_REVOKED) {
      var _ = store.transact(List.of(), certificates.subList(0, MOST_REVOKED), deadline);
      certificates = revocation(store, node, deadline);
    }
    var changes = new ArrayList<>(certificates);
    changes.addAll(
        List.of(
            new Change.Delete(StoreKeys.member(node)),
            new Change.Delete(StoreKeys.alive(node)),
            new Change.DeleteAll(StoreKeys.ASSIGNMENTS + node + "/"),
            new Change.DeleteAll(StoreKeys.REPORTS + node + "/"),
            new Change.DeleteAll(StoreKeys.NETWORKS + node + "/"),
            new Change.Delete(StoreKeys.subnet(node)),
            new Change.Delete(StoreKeys.linkKey(node))));
    var _ = store.transact(List.of(), changes, deadline);
    if (node.equals(by)) {
      return;
    }
    // what was signed meanwhile; for one that is no member nobody signs any more
    users.removeAll(node, deadline);
    certificates = revocation(store, node, deadline);
    while (!certificates.isEmpty()) {
      int most = Math.min(certificates.size(), MOST_REVOKED);
      var _ = store.transact(List.of(), certificates.subList(0, most), deadline);
      certificates = revocation(store, node, deadline);
    }
  }

  /** Two changes for each certificate of a node. */
  private static List<Change> revocation(ClusterStore store, String node, Deadline deadline)
      throws InterruptedException {
    String prefix = StoreKeys.certificates(node);
    var changes = new ArrayList<Change>();
    for (Entry entry : store.list(prefix, deadline).entries()) {
      changes.add(
          new Change.Put(
              StoreKeys.REVOKED + entry.key().substring(prefix.length()), entry.value()));
      changes.add(new Change.Delete(entry.key()));
    }
    return changes;
  }
}

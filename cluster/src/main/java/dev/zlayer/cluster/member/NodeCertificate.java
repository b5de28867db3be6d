package dev.zlayer.cluster.member;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.math.BigInteger;
import java.net.URI;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/**
 * The key and the certificate of this node. Both are replaced after two thirds of their time, or
 * when somebody asks for it: a new certificate is stored as issued, then key and certificate
 * replace the old ones in one step, then the old certificate is revoked. An agent that is killed
 * between two of these has a pair that is valid, and the next one revokes whatever it does not use.
 */
public final class NodeCertificate implements Owner.State {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration LOOK = Duration.ofHours(1);
  private static final Duration AGAIN = Duration.ofSeconds(10);

  /** Each certificate costs two changes. */
  private static final int MOST_REVOKED = ClusterStore.MOST_CHANGES / 2 - 1;

  private static final long PARTS = 1000;

  /**
   * How long the certificate of a node is valid.
   *
   * @param renewal when it is replaced
   * @param problem why that failed
   */
  public record Validity(Instant from, Instant until, Instant renewal, Optional<String> problem) {}

  /** What a node sends that cannot sign itself: its public key, as PEM. */
  public record SigningRequest(String key) {}

  /**
   * What it gets back: a certificate, as PEM.
   *
   * @param password of the user of etcd that belongs to it, where there is one
   */
  public record Signed(String certificate, Optional<String> password) {
    /** Without the password, for messages. */
    @Override
    public String toString() {
      return "Signed";
    }
  }

  /** With which certificate a node goes on, as PEM; all others of it are revoked. */
  public record Current(String certificate) {}

  /** The answer to that: as when it was signed. */
  public record Settled(Optional<String> password) {
    /** Without the password, for messages. */
    @Override
    public String toString() {
      return "Settled";
    }
  }

  private final NodeIdentity identity;
  private final ClusterFiles files;
  private final ClusterStore store;
  private final NodeUsers users;
  private final InstantSource clock;
  private final Supplier<List<String>> servers;
  private final Consumer<SSLContext> replaced;
  private final Consumer<Validity> told;
  private X509Certificate current;
  private boolean begun;

  /**
   * Does nothing before its owner starts.
   *
   * @param servers addresses of nodes that can sign
   * @param replaced is told every certificate that this node uses from then on
   * @param told how long it is valid, also after it could not be replaced
   */
  NodeCertificate(
      NodeIdentity identity,
      ClusterFiles files,
      ClusterStore store,
      NodeUsers users,
      InstantSource clock,
      Supplier<List<String>> servers,
      Consumer<SSLContext> replaced,
      Consumer<Validity> told) {
    this.identity = identity;
    this.files = files;
    this.store = store;
    this.users = users;
    this.clock = clock;
    this.servers = servers;
    this.replaced = replaced;
    this.told = told;
    this.current = files.ownCertificate();
    var _ = tell(Optional.empty());
  }

  /**
   * After two thirds of its time and up to a twentieth later, so that nodes do not do it at once.
   */
  static Instant renewal(X509Certificate certificate) {
    Instant from = certificate.getNotBefore().toInstant();
    Duration life = Duration.between(from, certificate.getNotAfter().toInstant());
    // a serial number is random, but for its lowest bit
    long part =
        certificate.getSerialNumber().shiftRight(1).mod(BigInteger.valueOf(PARTS)).longValue();
    return from.plus(life.multipliedBy(2).dividedBy(3))
        .plus(life.dividedBy(20).dividedBy(PARTS).multipliedBy(part));
  }

  private Validity tell(Optional<String> problem) {
    var now =
        new Validity(
            current.getNotBefore().toInstant(),
            current.getNotAfter().toInstant(),
            renewal(current),
            problem);
    told.accept(now);
    return now;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      if (!clock.instant().isBefore(renewal(current))) {
        var _ = replace();
      }
    } catch (AgentException e) {
      var _ = tell(Optional.of("the certificate was not renewed: " + e.getMessage()));
      return AGAIN;
    }
    try {
      settle(Deadline.after(LIMIT));
    } catch (AgentException _) {
      return AGAIN; // the cluster cannot be reached, which its status says
    }
    Duration left = Duration.between(clock.instant(), renewal(current));
    return left.compareTo(LOOK) < 0 ? left : LOOK;
  }

  /** Makes a new key and uses it with a new certificate from now on. */
  Validity replace() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    KeyPair keys = Authority.keys();
    Signed signed =
        files.signing().isPresent()
            ? new Signed(Pem.of(signedHere(keys.getPublic(), deadline)), Optional.empty())
            : signedElsewhere(keys.getPublic(), deadline);
    X509Certificate made = Pem.certificate(signed.certificate());
    check(made, keys.getPublic());
    signed.password().ifPresent(password -> files.writePassword(made, password));
    files.replace(keys.getPrivate(), made);
    current = made;
    replaced.accept(files.tls());
    return tell(Optional.empty());
  }

  private void check(X509Certificate made, PublicKey key) {
    try {
      made.verify(files.authorityCertificate().getPublicKey());
    } catch (GeneralSecurityException e) {
      throw new AgentException.Network("the certificate is not of the cluster", e);
    }
    if (!made.getPublicKey().equals(key)) {
      throw new AgentException.Network("the certificate is for another key");
    }
  }

  private X509Certificate signedHere(PublicKey key, Deadline deadline) throws InterruptedException {
    Instant now = clock.instant();
    if (now.isBefore(current.getNotAfter().toInstant())) {
      return sign(files, store, clock, identity.id(), key, deadline);
    }
    // with an expired one it reaches nobody; that it was issued is stored as soon as it does
    return files
        .signing()
        .orElseThrow(NodeCertificate::unable)
        .issue(
            key,
            NodeIdentity.names(identity.id(), identity.server()),
            List.of(identity.inetAddress()),
            now);
  }

  private Signed signedElsewhere(PublicKey key, Deadline deadline) throws InterruptedException {
    var request = new SigningRequest(Pem.of(key));
    return elsewhere(server -> JoinClient.sign(server, files.tls(), request, deadline));
  }

  private interface Question<T> {
    T ask(URI server) throws InterruptedException;
  }

  /** What the first node answers that can sign. */
  private <T> T elsewhere(Question<T> question) throws InterruptedException {
    AgentException last = new AgentException.Network("no node that can sign is known");
    for (String server : servers.get()) {
      try {
        return question.ask(NodeIdentity.url(server, NodeIdentity.AGENT_PORT));
      } catch (AgentException e) {
        last = e;
      }
    }
    throw last;
  }

  private static AgentException unable() {
    return new AgentException.Conflict("this node cannot sign certificates of others");
  }

  /** Signs a certificate for another node. */
  static Signed signed(
      ClusterFiles files,
      ClusterStore store,
      NodeUsers users,
      InstantSource clock,
      String node,
      SigningRequest request,
      Deadline deadline)
      throws InterruptedException {
    PublicKey key = Pem.publicKey(request.key());
    X509Certificate made = sign(files, store, clock, node, key, deadline);
    return new Signed(Pem.of(made), admitted(store, users, node, made, deadline));
  }

  /** Has etcd let another node in; the store knows its certificate already. */
  private static Optional<String> admitted(
      ClusterStore store, NodeUsers users, String node, X509Certificate made, Deadline deadline)
      throws InterruptedException {
    if (Authority.names(made).anyMatch(NodeIdentity.SERVERS::equals)) {
      return Optional.empty();
    }
    Optional<String> password = users.admit(node, NodeIdentity.serial(made), deadline);
    if (password.isPresent() && store.find(StoreKeys.member(node), deadline).isEmpty()) {
      users.removeAll(node, deadline); // it was removed meanwhile
      throw removed(node);
    }
    return password;
  }

  /** Revokes all certificates of another node but the one that it uses. */
  static Settled settled(
      ClusterFiles files,
      ClusterStore store,
      NodeUsers users,
      String node,
      Current request,
      Deadline deadline)
      throws InterruptedException {
    X509Certificate shown = Pem.certificate(request.certificate());
    Authority authority = files.signing().orElseThrow(NodeCertificate::unable);
    try {
      shown.verify(authority.certificate().getPublicKey());
    } catch (GeneralSecurityException e) {
      throw new AgentException.InvalidSpec("the certificate is not of the cluster", e);
    }
    if (!NodeIdentity.id(Authority.names(shown).toList()).equals(Optional.of(node))
        || store.find(StoreKeys.REVOKED + NodeIdentity.serial(shown), deadline).isPresent()) {
      throw new AgentException.Conflict(
          "the certificate is of another node than %s, or was revoked".formatted(node));
    }
    if (store.find(StoreKeys.member(node), deadline).isEmpty()) {
      throw removed(node);
    }
    return new Settled(settle(store, users, node, shown, deadline));
  }

  /** Signs a certificate of a node; it can be revoked before anybody has it. */
  static X509Certificate sign(
      ClusterFiles files,
      ClusterStore store,
      InstantSource clock,
      String node,
      PublicKey key,
      Deadline deadline)
      throws InterruptedException {
    Authority authority = files.signing().orElseThrow(NodeCertificate::unable);
    Entry member = store.find(StoreKeys.member(node), deadline).orElseThrow(() -> removed(node));
    X509Certificate made =
        Admission.certificate(authority, NodeRecord.parse(member.value()), key, clock.instant());
    boolean stored =
        store
            .transact(
                List.of(new Condition.Created(member.key(), member.created())),
                List.of(Admission.issued(node, made)),
                deadline)
            .applied();
    if (!stored) {
      throw removed(node);
    }
    return made;
  }

  private static AgentException removed(String node) {
    return new AgentException.Conflict("node %s was removed from the cluster".formatted(node));
  }

  /** Has the cluster know which certificate this node uses, and refuse all others of it. */
  void settle(Deadline deadline) throws InterruptedException {
    if (!files.settings().hasUsers() || files.signing().isPresent()) {
      if (!begun) {
        users.begin(deadline);
        begun = true;
      }
      var _ = settle(store, users, identity.id(), current, deadline);
      users.sweep(store, deadline);
    } else if (!isSettled(deadline)) {
      var request = new Current(Pem.of(current));
      Deadline own = Deadline.after(LIMIT); // etcd may have taken all of the other one
      Settled answer = elsewhere(server -> JoinClient.settle(server, files.tls(), request, own));
      if (answer.password().isPresent() && !answer.password().equals(files.readPassword())) {
        files.writePassword(current, answer.password().get());
      }
      replaced.accept(files.tls()); // logs in anew
    }
    files.removeOldPasswords();
  }

  /** Whether etcd lets this node in, and knows no other certificate of it. */
  private boolean isSettled(Deadline deadline) throws InterruptedException {
    String own = Admission.issued(identity.id(), current).key();
    try {
      return store.list(StoreKeys.certificates(identity.id()), deadline).entries().stream()
          .map(Entry::key)
          .toList()
          .equals(List.of(own));
    } catch (AgentException.Network _) {
      return false; // it may be refused, as after an earlier state was restored
    }
  }

  /**
   * Has the store know the certificate that a node uses, and revokes all others of it: replaced
   * ones, those that no agent received, and those that a restored backup brought back.
   *
   * @return the password of its user
   */
  private static Optional<String> settle(
      ClusterStore store, NodeUsers users, String node, X509Certificate used, Deadline deadline)
      throws InterruptedException {
    Optional<Entry> member = store.find(StoreKeys.member(node), deadline);
    if (member.isEmpty()) {
      return Optional.empty(); // removed, which is said elsewhere
    }
    Condition belongs = new Condition.Created(member.get().key(), member.get().created());
    Change own = Admission.issued(node, used);
    String prefix = StoreKeys.certificates(node);
    List<Entry> known = store.list(prefix, deadline).entries();
    List<Entry> others = known.stream().filter(entry -> !entry.key().equals(own.key())).toList();
    if (others.size() == known.size()) {
      var _ = store.transact(List.of(belongs), List.of(own), deadline);
    }
    Optional<String> password = admitted(store, users, node, used, deadline);
    for (int from = 0; from < others.size(); from += MOST_REVOKED) {
      var changes = new ArrayList<Change>();
      for (Entry old : others.subList(from, Math.min(others.size(), from + MOST_REVOKED))) {
        String serial = old.key().substring(prefix.length());
        users.remove(node, serial, deadline); // before what it is known by
        changes.add(new Change.Put(StoreKeys.REVOKED + serial, old.value()));
        changes.add(new Change.Delete(old.key()));
      }
      var _ = store.transact(List.of(belongs), changes, deadline);
    }
    return password;
  }
}

package dev.zlayer.cluster.member;

import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** The cluster as one of its nodes has it. */
public final class Cluster implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration ANSWER = Duration.ofSeconds(6);
  private static final Duration COPY = Duration.ofMinutes(5);

  /** etcd admits nobody for some seconds after the last one. */
  private static final Duration ADMISSION = Duration.ofSeconds(25);

  private static final Duration STEP = Duration.ofMillis(50);

  /**
   * What it needs of its agent.
   *
   * @param facts what this node says about itself
   * @param etcd the program
   */
  public record Host(
      Path directory,
      Path etcd,
      NodeRecord.Facts.Source facts,
      TimeSource clock,
      Supervisor supervisor,
      Pauses pauses) {}

  /**
   * A node, and what it says about itself when it is alive.
   *
   * @param expires when its certificate does
   */
  public record Node(
      NodeRecord node, Optional<NodeRecord.Facts> facts, boolean self, Optional<Instant> expires) {}

  /**
   * A node that stores the state.
   *
   * @param problem why it does not answer
   */
  public record Server(
      String name,
      String address,
      boolean learner,
      boolean leader,
      Optional<String> version,
      long bytes,
      Optional<String> problem) {}

  private final Host host;
  private final ClusterFiles files;
  private final NodeIdentity identity;
  private volatile SSLContext tls;
  private final Backend backend;
  private final ClusterStore store;
  private final Servers servers;
  private final Nodes nodes;
  private final NodeUsers users;
  private final Admission admission;
  private final Leaving leaving;
  private final Owner<Registration> registration;
  private final Owner<MemberWatch> watch;
  private final Owner<NodeCertificate> certificates;
  private volatile List<URI> endpoints;
  private volatile long lease;
  private volatile KnownNodes known = KnownNodes.NONE;
  private volatile Consumer<String> removed = _ -> {};
  private volatile Runnable dismissed = () -> {};
  private volatile NodeCertificate.@Nullable Validity validity;
  private volatile Consumer<SSLContext> replaced = _ -> {};

  private Cluster(Host host, ClusterFiles files, NodeIdentity identity) {
    this.host = host;
    this.files = files;
    this.identity = identity;
    this.endpoints = identity.endpoints().stream().map(URI::create).toList();
    files.combine();
    this.tls = files.tls();
    this.backend = Backend.of(host, files, identity, tls);
    this.store = backend.store();
    this.nodes = new Nodes(store, identity.id());
    this.servers = new Servers(backend, files, this::tls, files.login(identity));
    this.users = backend.users(files, identity);
    this.admission = new Admission(identity, files, store, backend.members(), users, host.clock());
    this.leaving = new Leaving(identity, backend, users, servers, nodes);
    files.signing().ifPresent(authority -> files.prepare(authority, host.clock().instant()));
    this.watch =
        Owner.of(
            "the members of the cluster",
            host.clock(),
            host.supervisor(),
            (_, _) ->
                new MemberWatch(
                    identity.id(),
                    store,
                    files,
                    backend.server(),
                    host.clock(),
                    this::known,
                    id -> removed.accept(id)));
    this.certificates =
        Owner.of(
            "the certificate of this node",
            host.clock(),
            host.supervisor(),
            (_, _) ->
                new NodeCertificate(
                    identity,
                    files,
                    store,
                    users,
                    host.clock(),
                    this::signers,
                    this::replaced,
                    now -> validity = now));
    this.registration =
        Owner.of(
            "the cluster",
            host.clock(),
            host.supervisor(),
            (owner, _) ->
                new Registration(
                    identity,
                    store,
                    backend.own(),
                    backend.server(),
                    host.facts(),
                    this::reached,
                    this::dismissed,
                    now -> lease = now,
                    Registration.Beside.of(owner),
                    Registration.FACTS));
  }

  /** Continues what an earlier agent of this node was part of; returns before it is reached. */
  public static Cluster open(Host host) throws InterruptedException {
    var files = new ClusterFiles(host.directory());
    return new Cluster(host, files, files.read()).running();
  }

  /** Makes this node the first one of a new cluster. */
  static Cluster begin(
      Host host,
      ClusterFiles files,
      NodeIdentity identity,
      NodeRecord record,
      ClusterSettings settings)
      throws InterruptedException {
    var cluster = new Cluster(host, files, identity);
    try {
      Deadline deadline = Deadline.after(ADMISSION);
      if (cluster.backend.server().isPresent()) {
        cluster.backend.server().get().start();
      }
      cluster.backend.begin(
          settings,
          List.of(
              new Change.Put(StoreKeys.member(identity.id()), record.text()),
              Admission.issued(identity.id(), files.ownCertificate())),
          deadline);
      cluster.users.begin(deadline);
      return cluster.started(deadline);
    } catch (AgentException | InterruptedException e) {
      cluster.backend.discard(identity.cluster(), e);
      cluster.close();
      cluster.backend.stop();
      files.remove();
      throw e;
    }
  }

  /** Goes on with a node that was admitted. */
  static Cluster enter(Host host, ClusterFiles files, NodeIdentity identity)
      throws InterruptedException {
    return new Cluster(host, files, identity).started(Deadline.after(ADMISSION));
  }

  private Cluster running() throws InterruptedException {
    var _ = registration.start();
    var _ = watch.start();
    var _ = certificates.start();
    return this;
  }

  private Cluster started(Deadline deadline) throws InterruptedException {
    var _ = running();
    while (problem().isPresent() && !deadline.passed()) {
      host.pauses().pause(STEP);
    }
    return this;
  }

  /** Who joins or leaves may store the state. */
  private void known(KnownNodes now) {
    if (!now.members().keySet().equals(known.members().keySet())) {
      registration.tell(Registration::lookAgain);
    }
    known = now;
  }

  private void reached(List<URI> found) {
    if (!List.copyOf(found).equals(endpoints)) {
      endpoints = List.copyOf(found);
      backend.client().endpoints(endpoints);
      files.write(identity.withEndpoints(endpoints.stream().map(URI::toString).toList()));
    }
  }

  public NodeIdentity identity() {
    return identity;
  }

  public ClusterStore store() {
    return store;
  }

  /** For the listener of this node, and for calls to others; another one from time to time. */
  public SSLContext tls() {
    return tls;
  }

  /** Is told what connections are to be made with from then on. */
  public void onReplaced(Consumer<SSLContext> action) {
    replaced = action;
  }

  private void replaced(SSLContext next) {
    tls = next;
    if (backend.external().isEmpty()) {
      backend.client().use(next, files.login(identity));
    }
    replaced.accept(next);
  }

  /** Those who store the state can sign. */
  private List<String> signers() {
    Stream<String> addresses =
        backend.external().isPresent()
            ? known.members().values().stream() // those that cannot sign say so
            : endpoints.stream().map(URI::getHost).map(host -> host.replaceAll("[\\[\\]]", ""));
    return addresses.filter(address -> !address.equals(identity.address())).toList();
  }

  /** How long the certificate of this node is valid. */
  public NodeCertificate.Validity certificate() {
    return Objects.requireNonNull(validity, "not started");
  }

  /** Gives this node a new key and certificate; returns when both are in use. */
  public NodeCertificate.Validity rotate() {
    return certificates.ask(NodeCertificate::replace);
  }

  /** Signs a certificate for the key of another node. */
  public NodeCertificate.Signed sign(String node, NodeCertificate.SigningRequest request)
      throws InterruptedException {
    return NodeCertificate.signed(
        files, store, users, host.clock(), node, request, Deadline.after(LIMIT));
  }

  /** Revokes all certificates of another node but the one that it uses. */
  public NodeCertificate.Settled settle(String node, NodeCertificate.Current request)
      throws InterruptedException {
    return NodeCertificate.settled(files, store, users, node, request, Deadline.after(LIMIT));
  }

  /** Whether a certificate was revoked, as of the last list that was read. */
  public boolean revoked(X509Certificate certificate) {
    return known.revoked().contains(certificate.getSerialNumber().toString(16));
  }

  public boolean encrypted() {
    return files.settings().encrypt();
  }

  /** Whether etcd knows nodes as users, so that each has only the rights that it needs. */
  public boolean hasUsers() {
    return files.settings().hasUsers();
  }

  /** Whether this node may lead and decide about nodes: with users, those that store the state. */
  public boolean decides() {
    return identity.server() || !hasUsers();
  }

  /** With which this node encrypts packets to others. */
  public LinkKeys linkKeys() {
    return new LinkKeys(identity, files, this::revoked);
  }

  /** Why this node is not registered at the moment. */
  public Optional<String> problem() {
    return registration.ask(Registration::problem);
  }

  /** Under which this node is alive in the cluster; 0 while it is not. */
  public long lease() {
    return lease;
  }

  /** Nodes by name. */
  public List<Node> nodes() throws InterruptedException {
    return nodes.list();
  }

  /** How a node stands that calls this one. */
  public enum Standing {
    /** It belongs to the cluster. */
    MEMBER,
    /** It did. */
    REMOVED,
    /** It is not known whether it does. */
    UNKNOWN
  }

  /** As of the last list that was read; a node that is not known yet is asked for. */
  public Standing standing(String id) throws InterruptedException {
    KnownNodes last = known;
    if (last.removed().contains(id)) {
      return Standing.REMOVED;
    }
    try {
      boolean member =
          last.members().containsKey(id)
              || store.find(StoreKeys.member(id), Deadline.after(ANSWER)).isPresent();
      return member ? Standing.MEMBER : Standing.UNKNOWN;
    } catch (AgentException.Network | AgentException.Timeout _) {
      return Standing.UNKNOWN;
    }
  }

  /** Is told the id of every node that is removed from now on. */
  public void onRemoved(Consumer<String> action) {
    removed = action;
  }

  /** Runs when it turns out that this node itself was removed. */
  public void onDismissed(Runnable action) {
    dismissed = action;
  }

  /** What a node that etcd refuses cannot read itself. */
  private boolean dismissed() throws InterruptedException {
    var others = new HashMap<>(known.members());
    others.remove(identity.id());
    boolean now = RemovalCheck.removed(others.values(), tls());
    if (now) {
      dismissed.run();
    } else if (!decides()) {
      certificates.wake(); // its user may be missing, as after an earlier state was restored
    }
    return now;
  }

  /** By its name or id. */
  public Node node(String name) throws InterruptedException {
    return nodes.find(name);
  }

  /** Sets and removes labels of a node. */
  public Node label(String name, Map<String, String> set, List<String> removed)
      throws InterruptedException {
    return nodes.change(
        name,
        record -> {
          var labels = new HashMap<>(record.labels());
          labels.putAll(set);
          removed.forEach(labels::remove);
          return record.with(labels);
        });
  }

  /** Decides whether a node gets replicas, and whether it keeps those it has. */
  public Node schedule(String name, NodeFacts.Status status) throws InterruptedException {
    return nodes.change(name, record -> record.with(status));
  }

  /** A token with which one node can join until it expires. */
  public JoinToken token(Duration lifetime) throws InterruptedException {
    return admission.token(lifetime, Deadline.after(LIMIT));
  }

  /** Admits a node that shows a token; nobody else can use the token afterwards. */
  public JoinRequest.Answer admit(JoinRequest request) throws InterruptedException {
    return admission.admit(
        request, endpoints.stream().map(URI::toString).toList(), Deadline.after(ADMISSION));
  }

  /** The nodes that store the state, each asked itself. */
  public List<Server> servers() throws InterruptedException {
    Map<String, String> names = new HashMap<>();
    nodes().forEach(node -> names.put(node.node().id(), node.node().name()));
    return servers.list(names, Deadline.after(LIMIT));
  }

  /** The etcd that others run, where it keeps the state. */
  Optional<ExternalEtcd> external() {
    return backend.external();
  }

  /** Throws when nothing would be written by {@link #backup}. */
  public void checkBackup() throws IOException, InterruptedException {
    backend.members().checkSnapshot(Deadline.after(LIMIT));
  }

  /** Writes all that the cluster stores, as of now. */
  public void backup(OutputStream out) throws IOException, InterruptedException {
    backend.members().snapshot(out, Deadline.after(COPY));
  }

  /** Whether a majority of those who store the state answers. */
  boolean answers() throws InterruptedException {
    try {
      var _ = store.find(StoreKeys.member(identity.id()), Deadline.after(ANSWER));
      return true;
    } catch (AgentException.Network | AgentException.Timeout _) {
      return false;
    }
  }

  /**
   * Removes a node that is lost for good, and refuses it from now on.
   *
   * @param force also when it is alive
   */
  public void remove(String name, boolean force) throws InterruptedException {
    leaving.remove(name, force);
  }

  /**
   * Takes this node out of the cluster, and removes what it has of it. The last node ends the
   * cluster.
   *
   * @param force also when the cluster cannot be reached, which then believes that the node is lost
   */
  public void leave(boolean force) throws InterruptedException {
    if (!force) {
      leaving.leave(decides(), signers(), this::tls);
    }
    close();
    backend.stop();
    files.remove();
  }

  /** Stops taking part; etcd and the containers keep running. */
  @Override
  public void close() {
    registration.close();
    watch.close();
    certificates.close();
    store.close();
  }
}

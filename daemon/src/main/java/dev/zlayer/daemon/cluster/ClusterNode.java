package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.ClusterDeployments;
import dev.zlayer.cluster.deploy.ClusterEventLog;
import dev.zlayer.cluster.deploy.ClusterJobs;
import dev.zlayer.cluster.deploy.Leader;
import dev.zlayer.cluster.deploy.NodeClaims;
import dev.zlayer.cluster.deploy.NodeJobs;
import dev.zlayer.cluster.deploy.NodeNetwork;
import dev.zlayer.cluster.deploy.NodeSecrets;
import dev.zlayer.cluster.deploy.NodeShares;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.deploy.StateWatch;
import dev.zlayer.cluster.deploy.VolumeBindings;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.member.Cluster;
import dev.zlayer.cluster.member.ClusterFiles;
import dev.zlayer.cluster.member.ExternalEtcd;
import dev.zlayer.cluster.member.JoinRequest;
import dev.zlayer.cluster.member.Joining;
import dev.zlayer.cluster.member.NodeCertificate;
import dev.zlayer.cluster.member.NodeIdentity;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.Restoring;
import dev.zlayer.daemon.Agent;
import dev.zlayer.daemon.Version;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.ClusterListener;
import dev.zlayer.daemon.http.HttpListener;
import dev.zlayer.daemon.http.RestApi;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.secret.DeliveredSecrets;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.BootClock;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.process.ClaimDirectory;
import dev.zlayer.json.RecordJson;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.runtime.oci.gpu.Gpus;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TimeSource;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Begins, joins and leaves a cluster. Meanwhile it has the listener for other nodes open, takes its
 * turn at leading, and applies what is assigned to this node.
 */
public final class ClusterNode implements AutoCloseable {
  private static final String ADMISSION = "/cluster/members";
  private static final String CERTIFICATES = "/cluster/certificates";
  private static final String CURRENT = CERTIFICATES + "/current";

  private final Agent agent;
  private final Path directory;
  private final PeerPulse pulse = new PeerPulse();
  private @Nullable HttpListener listener;

  /** Changed by one thread at a time; read by all. */
  private volatile @Nullable Cluster cluster;

  private final ClusterMembers members =
      new ClusterMembers(() -> Optional.ofNullable(this.cluster));
  private volatile @Nullable NodeOwners owners;
  private volatile @Nullable ClusterSecrets secrets;
  private List<Route> routes = List.of();

  /** Read by every request, also while this node joins or leaves. */
  private volatile @Nullable Cluster working;

  /** Those that were alive a moment ago, also while the store does not answer. */
  private volatile List<Peer> peers = List.of();

  /** What was seen of the state last. */
  private volatile StateWatch.View seen = new StateWatch.View();

  /**
   * This node in its cluster.
   *
   * @param peers other nodes that are alive
   * @param away names of those that are not
   * @param calls to them
   * @param seen the state as this node follows it, which may be some moments old
   */
  public record Member(
      String id,
      String name,
      List<Peer> peers,
      List<String> away,
      Peers calls,
      StateWatch.View seen,
      ClusterDeployments deployments,
      ClusterJobs jobs,
      ClusterEventLog events) {}

  public ClusterNode(Agent agent) {
    this.agent = agent;
    this.directory = agent.config().directories().cluster();
    agent.images().images().use(new PeerBlobs(this::others));
    agent.volumes().bound(new NodeVolumes(this::volumes));
  }

  /**
   * Continues in the cluster that this node is in, if any. What fails is logged: the containers of
   * this node need their agent with or without a cluster.
   */
  public synchronized ClusterNode begin(HttpListener listener, List<Route> routes, Log log)
      throws InterruptedException {
    this.listener = listener;
    this.routes = List.copyOf(routes);
    // asked of the directory, so that most agents load no class of a cluster
    if (Files.exists(directory)) {
      resume(log);
    }
    if (!belongs()) {
      forgetSecrets();
    }
    return this;
  }

  /** A node that left by force runs what it had, with its secrets, until that is removed. */
  private void forgetSecrets() {
    DeliveredSecrets given = agent.secrets().delivered();
    given.deployments().stream()
        .filter(name -> agent.deployments().find(name).flatMap(DeploymentStatus::share).isEmpty())
        .forEach(given::drop);
  }

  private void resume(Log log) throws InterruptedException {
    try {
      if (ClusterFiles.present(directory)) {
        opened(Cluster.open(host()));
      }
    } catch (RuntimeException e) { // whatever is damaged, the agent itself can work
      log.warn(
          "this node does not take part in its cluster fully; restart the agent when it is mended",
          Map.of("reason", String.valueOf(e.getMessage())));
    }
  }

  /** This node in its cluster, if it is in one. */
  public Optional<Member> member() {
    Cluster now = working;
    if (now == null) {
      return Optional.empty();
    }
    return Optional.of(
        new Member(
            now.identity().id(),
            now.identity().name(),
            peers,
            away(now.identity().id()),
            new Peers(now.tls(), pulse),
            seen,
            new ClusterDeployments(now.store(), InstantSource.system()),
            new ClusterJobs(now.store(), InstantSource.system()),
            new ClusterEventLog(now.store())));
  }

  private List<String> away(String self) {
    return seen.last().stream()
        .flatMap(
            state ->
                state.members().values().stream()
                    .filter(one -> !one.id().equals(self) && !state.alive().containsKey(one.id())))
        .map(NodeRecord::name)
        .sorted()
        .toList();
  }

  /** Who may have content of images; nobody while this node is in no cluster. */
  private Optional<PeerBlobs.Others> others() {
    return Optional.ofNullable(working).map(now -> new PeerBlobs.Others(peers, now.tls()));
  }

  /** Which volumes the cluster has on this node. */
  private Optional<VolumeBindings> volumes() {
    return Optional.ofNullable(working)
        .map(now -> new VolumeBindings(now.store(), now.identity().id()));
  }

  /** The secrets of the cluster that this node is in, if it is in one. */
  public Optional<ClusterSecrets> secrets() {
    return Optional.ofNullable(secrets);
  }

  /** Why this node does not follow the cluster, or does not lead it, at the moment. */
  public Optional<String> problem() {
    NodeOwners working = owners;
    return working == null ? Optional.empty() : working.problem();
  }

  /** Whether this node is in a cluster, also when it cannot take part in it. */
  public boolean belongs() {
    return cluster != null || (Files.exists(directory) && ClusterFiles.present(directory));
  }

  /** The cluster, for those who need one. */
  public synchronized Cluster cluster() {
    if (cluster == null) {
      if (belongs()) {
        throw new AgentException.Conflict(
            "what this node has of its cluster cannot be used, see the agent's log; mend it and"
                + " restart the agent, or run 'zlayer cluster leave --force'");
      }
      throw new AgentException.Conflict(
          "this node is in no cluster; begin one with 'zlayer cluster init', or join one");
    }
    return cluster;
  }

  /**
   * Begins a cluster.
   *
   * @param external an etcd that others run, to be used instead of one on nodes
   * @param encrypt whether packets between containers of different nodes are encrypted
   */
  public synchronized Cluster init(
      Optional<String> name,
      Optional<String> advertise,
      Optional<ExternalEtcd> external,
      boolean encrypt)
      throws InterruptedException {
    return opened(
        Joining.init(host(), name.orElseGet(ClusterNode::hostname), advertise, external, encrypt));
  }

  /**
   * Joins through a node of the cluster.
   *
   * @param through its address
   */
  public synchronized Cluster join(
      String through,
      String token,
      Optional<String> name,
      Optional<String> advertise,
      Optional<Boolean> server)
      throws InterruptedException {
    return opened(
        Joining.join(
            host(), name.orElseGet(ClusterNode::hostname), through, token, advertise, server));
  }

  /**
   * Begins the cluster anew from a snapshot, with this node alone storing its state.
   *
   * @param snapshot the state as this node has it when absent
   */
  public synchronized void restore(Optional<Path> snapshot, boolean force)
      throws InterruptedException {
    Cluster before = cluster();
    Restoring.check(before, force);
    rest();
    before.close();
    try {
      var claims = Duration.ofSeconds(agent.config().clusterClaimSeconds());
      Restoring.restore(host(), snapshot, claims, Pauses.REAL);
    } finally {
      Cluster restored = Cluster.open(host());
      cluster = restored;
      work(restored);
    }
  }

  public synchronized void leave(boolean force) throws InterruptedException {
    if (cluster == null && force && belongs()) {
      Joining.abandon(host());
    } else {
      Cluster left = cluster();
      String address = left.identity().address();
      boolean others = !force && left.nodes().size() > 1;
      rest();
      try {
        left.leave(force);
      } catch (AgentException | InterruptedException e) {
        work(left);
        throw e;
      }
      if (others) {
        // the others run them from now on
        removeShares(address);
      }
    }
    cluster = null;
    NodeOverlay.remove(agent);
    if (listener != null) {
      listener.removeCluster();
    }
  }

  private void removeShares(String address) {
    var engine =
        new EngineShares(agent.deployments(), new NodeOverlay(agent, address, Optional.empty()));
    engine.applied().keySet().forEach(name -> engine.remove(name, false));
    new EngineSecrets(agent).dropAll();
  }

  /** Others reach it from now on. When that cannot be, the node is in the cluster nevertheless. */
  private Cluster opened(Cluster made) throws InterruptedException {
    cluster = made;
    work(made);
    HttpListener server = listener;
    if (server == null) {
      throw new AgentException.Unavailable("the agent is starting: try again");
    }
    var all = new ArrayList<>(routes);
    all.add(Route.post(ADMISSION, "Admit a node.", this::admit));
    all.addAll(new SharedBlobs(agent.images().images()).routes());
    all.add(Route.post(CERTIFICATES, "Sign a certificate of the node that asks.", this::sign));
    all.add(Route.post(CURRENT, "Revoke all certificates of a node but this one.", this::settle));
    all.add(Route.post(ClusterSecrets.ROUTE, "Give a node the secrets that it needs.", this::give));
    server.add(
        new ClusterListener(
            new InetSocketAddress(made.identity().address(), NodeIdentity.AGENT_PORT),
            made.tls(),
            members),
        new RestApi(new Router(all), Set.of(ADMISSION)));
    return made;
  }

  /** Takes part in what the cluster decides. */
  private void work(Cluster made) throws InterruptedException {
    made.onRemoved(members::removed);
    HttpListener server = listener;
    if (server != null) {
      made.onReplaced(server::replaceClusterTls);
    }
    made.onDismissed(() -> removeShares(made.identity().address()));
    String id = made.identity().id();
    var state = new StateWatch.View();
    seen = state;
    var opener = new ClusterSecrets(made, directory, state);
    var given = new NodeSecrets(made.store(), state, id, new EngineSecrets(agent), opener);
    var overlay = new NodeOverlay(agent, made.identity().address(), Optional.of(made.linkKeys()));
    var claimed = new ClaimDirectory(agent.config().directories().claims());
    var started = new NodeOwners(agent.supervisor());
    owners = started;
    var _ = started.start("the state of the cluster", () -> new StateWatch(made.store(), state));
    if (made.decides()) {
      started.start(
          "the leader of the cluster",
          () ->
              new Leader(
                  made.store(), state, id, made::lease, InstantSource.system(), BootClock::millis),
          Leader::problem);
    }
    started.start(
        "the network between nodes",
        () -> new NodeNetwork(made.store(), state, id, overlay),
        NodeNetwork::problem);
    started.start(
        "the share of the cluster",
        () ->
            new NodeShares(
                made.store(),
                state,
                id,
                made::lease,
                new EngineShares(agent.deployments(), overlay),
                alive -> peers = alive,
                given),
        NodeShares::problem);
    started.start(
        "the jobs of the cluster",
        () ->
            new NodeJobs(
                made.store(),
                state,
                id,
                new EngineJobs(agent.jobs(), agent.deployments(), claimed, agent::obstacle),
                InstantSource.system(),
                given),
        NodeJobs::problem);
    started.start("the secrets of the cluster", () -> given, NodeSecrets::problem);
    secrets = opener;
    started.start(
        "the claims of this node",
        () ->
            new NodeClaims(
                made.store(),
                state,
                id,
                made::lease,
                new EngineClaims(agent.runtime(), claimed),
                agent.config().clusterClaimSeconds()),
        NodeClaims::problem);
    working = made;
  }

  /** Decides and applies nothing any more; the containers keep running. */
  private void rest() {
    working = null;
    peers = List.of();
    secrets = null;
    NodeOwners ending = owners;
    owners = null;
    if (ending != null) {
      ending.close();
    }
  }

  private ApiResponse admit(ApiRequest call) throws InterruptedException {
    Cluster admitting = cluster();
    return ApiResponse.json(201, RecordJson.write(admitting.admit(call.body(JoinRequest.class))));
  }

  private ApiResponse sign(ApiRequest call) throws InterruptedException {
    String caller = call.node().orElseThrow();
    Cluster signing = cluster();
    return ApiResponse.json(
        201,
        RecordJson.write(signing.sign(caller, call.body(NodeCertificate.SigningRequest.class))));
  }

  private ApiResponse settle(ApiRequest call) throws InterruptedException {
    String caller = call.node().orElseThrow();
    return ApiResponse.json(
        RecordJson.write(cluster().settle(caller, call.body(NodeCertificate.Current.class))));
  }

  private ApiResponse give(ApiRequest call) throws InterruptedException {
    ClusterSecrets giving = secrets;
    if (giving == null) {
      throw new AgentException.Unavailable("this node takes no part in the cluster: ask another");
    }
    return giving.give(call);
  }

  private Cluster.Host host() {
    return new Cluster.Host(
        directory,
        EtcdServer.program(),
        this::facts,
        TimeSource.of(InstantSource.system()),
        agent.supervisor(),
        Pauses.REAL);
  }

  private NodeRecord.Facts facts() throws InterruptedException {
    List<ContainerRuntime> runtimes = agent.runtimes();
    Optional<Gpus> gpus = agent.oci().map(OciRuntime::gpus);
    List<Gpus.Listed> found = gpus.isEmpty() ? List.of() : gpus.get().list();
    return new NodeRecord.Facts(
        Runtime.getRuntime().availableProcessors(),
        Machine.memoryBytes(),
        runtimes.stream()
            .flatMap(runtime -> runtime.capabilities().platforms().stream())
            .map(Object::toString)
            .distinct()
            .toList(),
        runtimes.stream().map(ContainerRuntime::name).toList(),
        found.stream().map(Gpus.Listed::name).toList(),
        Version.CURRENT.version(),
        NodeGpus.of(found));
  }

  private static String hostname() {
    return Machine.hostname().toLowerCase(Locale.ROOT);
  }

  /** etcd and the containers keep running. */
  @Override
  public synchronized void close() {
    rest();
    if (cluster != null) {
      cluster.close();
    }
  }
}

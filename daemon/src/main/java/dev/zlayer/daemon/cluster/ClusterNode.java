package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.ClusterDeployments;
import dev.zlayer.cluster.deploy.ClusterJobs;
import dev.zlayer.cluster.deploy.Leader;
import dev.zlayer.cluster.deploy.NodeJobs;
import dev.zlayer.cluster.deploy.NodeNetwork;
import dev.zlayer.cluster.deploy.NodeShares;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.cluster.deploy.StateWatch;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.member.Certificates;
import dev.zlayer.cluster.member.Cluster;
import dev.zlayer.cluster.member.ClusterFiles;
import dev.zlayer.cluster.member.JoinRequest;
import dev.zlayer.cluster.member.Joining;
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
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.json.RecordJson;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.runtime.oci.gpu.Gpus;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TimeSource;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
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

  private final Agent agent;
  private final Path directory;
  private @Nullable HttpListener listener;

  /** Changed by one thread at a time; read by all. */
  private volatile @Nullable Cluster cluster;

  private final ClusterMembers members =
      new ClusterMembers(() -> Optional.ofNullable(this.cluster));
  private volatile @Nullable Owner<StateWatch> watch;
  private volatile @Nullable Owner<Leader> leader;
  private volatile @Nullable Owner<NodeShares> shares;
  private volatile @Nullable Owner<NodeNetwork> network;
  private volatile @Nullable Owner<NodeJobs> jobs;
  private List<Route> routes = List.of();

  /** Read by every request, also while this node joins or leaves. */
  private volatile @Nullable Cluster working;

  /** Those that were alive a moment ago, also while the store does not answer. */
  private volatile List<Peer> peers = List.of();

  /**
   * This node in its cluster.
   *
   * @param peers other nodes that are alive
   * @param calls to them
   */
  public record Member(
      String id,
      String name,
      List<Peer> peers,
      Peers calls,
      ClusterDeployments deployments,
      ClusterJobs jobs) {}

  public ClusterNode(Agent agent) {
    this.agent = agent;
    this.directory = agent.config().directories().cluster();
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
    return this;
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
            new Peers(now.tls()),
            new ClusterDeployments(now.store(), InstantSource.system()),
            new ClusterJobs(now.store(), InstantSource.system())));
  }

  /** Why this node does not follow the cluster, or does not lead it, at the moment. */
  public Optional<String> problem() {
    Owner<NodeShares> following = shares;
    Owner<Leader> leading = leader;
    Owner<NodeNetwork> connecting = network;
    Owner<NodeJobs> running = jobs;
    return following == null || leading == null || connecting == null || running == null
        ? Optional.empty()
        : following
            .ask(NodeShares::problem)
            .or(() -> leading.ask(Leader::problem))
            .or(() -> connecting.ask(NodeNetwork::problem))
            .or(() -> running.ask(NodeJobs::problem));
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

  public synchronized Cluster init(Optional<String> name, Optional<String> advertise)
      throws InterruptedException {
    return opened(Joining.init(host(), name.orElseGet(ClusterNode::hostname), advertise));
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
      Restoring.restore(host(), snapshot);
    } finally {
      Cluster restored = Cluster.open(host());
      cluster = restored;
      work(restored);
    }
  }

  public synchronized void leave(boolean force) throws InterruptedException {
    if (cluster == null && force && belongs()) {
      Cluster.abandon(host());
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
    var engine = new EngineShares(agent.deployments(), new NodeOverlay(agent, address));
    engine.applied().keySet().forEach(name -> engine.remove(name, false));
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
    all.add(Route.post(CERTIFICATES, "Sign a certificate of the node that asks.", this::sign));
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
    TimeSource clock = TimeSource.of(InstantSource.system());
    String id = made.identity().id();
    var state = new StateWatch.View();
    watch =
        Owner.<StateWatch>of(
                "the state of the cluster",
                clock,
                agent.supervisor(),
                (_, _) -> new StateWatch(made.store(), state))
            .start();
    leader =
        Owner.<Leader>of(
                "the leader of the cluster",
                clock,
                agent.supervisor(),
                (_, _) -> new Leader(made.store(), state, id, made::lease, InstantSource.system()))
            .start();
    var overlay = new NodeOverlay(agent, made.identity().address());
    network =
        Owner.<NodeNetwork>of(
                "the network between nodes",
                clock,
                agent.supervisor(),
                (_, _) -> new NodeNetwork(made.store(), state, id, overlay))
            .start();
    shares =
        Owner.<NodeShares>of(
                "the share of the cluster",
                clock,
                agent.supervisor(),
                (_, _) ->
                    new NodeShares(
                        made.store(),
                        state,
                        id,
                        made::lease,
                        new EngineShares(agent.deployments(), overlay),
                        alive -> peers = alive))
            .start();
    var engine = new EngineJobs(agent.jobs(), agent.deployments());
    jobs =
        Owner.<NodeJobs>of(
                "the jobs of the cluster",
                clock,
                agent.supervisor(),
                (_, _) -> new NodeJobs(made.store(), state, id, engine, InstantSource.system()))
            .start();
    working = made;
  }

  /** Decides and applies nothing any more; the containers keep running. */
  private void rest() {
    working = null;
    peers = List.of();
    Owner<Leader> leading = leader;
    Owner<NodeShares> following = shares;
    Owner<NodeNetwork> connecting = network;
    Owner<StateWatch> seeing = watch;
    Owner<NodeJobs> running = jobs;
    watch = null;
    leader = null;
    shares = null;
    network = null;
    jobs = null;
    if (leading != null) {
      leading.close();
    }
    if (following != null) {
      following.close();
    }
    if (connecting != null) {
      connecting.close();
    }
    if (running != null) {
      running.close();
    }
    if (seeing != null) {
      seeing.close();
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
        201, RecordJson.write(signing.sign(caller, call.body(Certificates.SigningRequest.class))));
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
    return new NodeRecord.Facts(
        Runtime.getRuntime().availableProcessors(),
        Machine.memoryBytes(),
        runtimes.stream()
            .flatMap(runtime -> runtime.capabilities().platforms().stream())
            .map(Object::toString)
            .distinct()
            .toList(),
        runtimes.stream().map(ContainerRuntime::name).toList(),
        gpus.isEmpty() ? List.of() : gpus.get().list().stream().map(Gpus.Listed::name).toList(),
        Version.CURRENT.version());
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

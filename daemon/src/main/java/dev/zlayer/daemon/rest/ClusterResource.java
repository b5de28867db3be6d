package dev.zlayer.daemon.rest;

import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.NodeShares;
import dev.zlayer.cluster.member.Cluster;
import dev.zlayer.cluster.member.ExternalEtcd;
import dev.zlayer.cluster.member.NodeCertificate;
import dev.zlayer.cluster.member.NodeIdentity;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.schedule.NodeFacts;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.ServerRequests;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The cluster of this node, and its nodes. */
public final class ClusterResource implements Resource {
  private static final String BYTES = "application/octet-stream";
  private static final Duration LONGEST_TOKEN = Duration.ofDays(7);

  private final ClusterNode cluster;

  @Doc("How this node begins a cluster.")
  public record InitCluster(
      @Doc("Name of this node; its host name when absent.") Optional<String> name,
      @Doc(
              "Address of this machine under which other nodes reach it; that of the default route"
                  + " when absent.")
          Optional<String> advertise,
      @Doc("An etcd that others run, to be used instead of one on nodes.") Optional<UseEtcd> etcd,
      @Doc(
              "Whether packets between containers of different nodes are encrypted, with"
                  + " WireGuard.")
          @Default("false")
          boolean encrypt) {}

  @Doc("An etcd that others run.")
  public record UseEtcd(
      @Doc("Addresses for clients, such as https://192.0.2.1:2379.") List<String> endpoints,
      @Doc("Of all keys of this cluster, so that several can share one etcd, such as /team-a.")
          Optional<String> prefix,
      @Doc("Whose certificates it has, as PEM; those that the system trusts when absent.")
          Optional<String> authority,
      @Doc("A certificate that nodes show to it, as PEM.") Optional<String> certificate,
      @Doc("The key of that certificate, as PEM in PKCS #8.") Optional<String> key,
      @Doc("A user of it.") Optional<String> user,
      @Doc("The password of that user.") Optional<String> password) {
    /** Without secrets, for messages. */
    @Override
    public String toString() {
      return "UseEtcd" + endpoints;
    }

    ExternalEtcd etcd() {
      return new ExternalEtcd(
          endpoints, prefix.orElse(""), authority, certificate, key, user, password);
    }
  }

  @Doc("How this node joins a cluster.")
  public record JoinCluster(
      @Doc("Address of a node that stores the state of the cluster.") String through,
      @Doc("Token that this cluster gave out.") String token,
      @Doc("Name of this node; its host name when absent.") Optional<String> name,
      @Doc(
              "Address of this machine under which other nodes reach it; that of the default route"
                  + " when absent.")
          Optional<String> advertise,
      @Doc("Whether it stores the state of the cluster; the first three nodes do when absent.")
          Optional<Boolean> server) {
    /** Without the token, for messages. */
    @Override
    public String toString() {
      return "JoinCluster[" + through + "]";
    }
  }

  @Doc("What a join token is for.")
  public record NewJoinToken(@Doc("How long it is valid.") @Default("1h") Duration expires) {}

  @Doc("Labels of a node to set and to remove.")
  public record ChangeLabels(
      @Doc("Labels with their values.") Map<String, String> set,
      @Doc("Names of labels.") List<String> remove) {}

  @Doc("Whether a node gets replicas, and whether it keeps those it has.")
  public record ChangeScheduling(
      @Doc(
              "ready: it gets replicas; cordoned: it keeps those it has; draining: those it has"
                  + " move to other nodes.")
          NodeFacts.Status scheduling) {}

  @Doc("How this node leaves.")
  public record LeaveCluster(
      @Doc("Also when the cluster cannot be reached.") @Default("false") boolean force) {}

  /**
   * A node.
   *
   * @param status ready, cordoned or draining, or lost when it has not renewed its lease
   */
  record NodeView(
      String id,
      String name,
      String address,
      String status,
      boolean self,
      boolean server,
      Instant joined,
      Map<String, String> labels,
      Optional<Integer> cpus,
      Optional<Long> memoryBytes,
      List<String> platforms,
      List<String> runtimes,
      List<String> gpus,
      Optional<String> version,
      @Doc("When its certificate expires, unless it is replaced before.")
          Optional<Instant> certificateExpires,
      @Doc("How many replicas of deployments of the cluster are assigned to it.") int replicas) {
    static NodeView of(Cluster.Node node, Map<String, Integer> replicas) {
      NodeRecord record = node.node();
      Optional<NodeRecord.Facts> facts = node.facts();
      return new NodeView(
          record.id(),
          record.name(),
          record.address(),
          facts.isPresent() ? record.status().name().toLowerCase(Locale.ROOT) : "lost",
          node.self(),
          record.server(),
          record.joined(),
          record.labels(),
          facts.map(NodeRecord.Facts::cpus),
          facts.map(NodeRecord.Facts::memoryBytes),
          facts.map(NodeRecord.Facts::platforms).orElse(List.of()),
          facts.map(NodeRecord.Facts::runtimes).orElse(List.of()),
          facts.map(NodeRecord.Facts::gpus).orElse(List.of()),
          facts.map(NodeRecord.Facts::agent),
          node.expires(),
          replicas.getOrDefault(record.id(), 0));
    }
  }

  /** A node that stores the state. */
  record ServerView(
      String name,
      String address,
      String role,
      Optional<String> version,
      long bytes,
      Optional<String> problem) {
    static ServerView of(Cluster.Server server) {
      return new ServerView(
          server.name(),
          server.address(),
          server.leader() ? "leader" : server.learner() ? "learner" : "follower",
          server.version(),
          server.bytes(),
          server.problem());
    }
  }

  /**
   * The certificate of a node.
   *
   * @param renewal when it is replaced
   * @param problem why that failed
   */
  record NodeCertificateView(
      String node, Instant notBefore, Instant notAfter, Instant renewal, Optional<String> problem) {
    static NodeCertificateView of(String node, NodeCertificate.Validity validity) {
      return new NodeCertificateView(
          node, validity.from(), validity.until(), validity.renewal(), validity.problem());
    }
  }

  /**
   * The cluster as this node sees it.
   *
   * @param problem why this node is not registered at the moment
   * @param unreachable why the others cannot be shown
   * @param leader name of the node that decides which node runs what
   */
  record ClusterStatusView(
      String cluster,
      String node,
      String name,
      Optional<String> problem,
      Optional<String> unreachable,
      Optional<String> leader,
      NodeCertificateView certificate,
      @Doc("Whether packets between containers of different nodes are encrypted.")
          boolean encrypted,
      @Doc("Whether nodes are users of etcd, each with the rights that it needs.") boolean users,
      List<ServerView> servers,
      List<NodeView> nodes) {}

  /**
   * How another machine joins.
   *
   * @param command to be run there
   */
  record JoinTokenView(String token, String address, String command) {
    @Override
    public String toString() {
      return "JoinTokenView[" + address + "]";
    }
  }

  public ClusterResource(ClusterNode cluster) {
    this.cluster = cluster;
  }

  @Override
  public String title() {
    return "Cluster";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/cluster", "Show the cluster that this node is in.", _ -> status())
            .gives(ClusterStatusView.class),
        Route.post("/cluster/init", "Begin a cluster with this node.", this::init)
            .takes(InitCluster.class)
            .creates(JoinTokenView.class),
        Route.post("/cluster/join", "Join a cluster.", this::join)
            .takes(JoinCluster.class)
            .gives(ClusterStatusView.class),
        Route.post("/cluster/tokens", "Create a token with which one node can join.", this::token)
            .takes(NewJoinToken.class)
            .creates(JoinTokenView.class),
        Route.get(
                "/cluster/certificate",
                "Show how long the certificate of this node is valid.",
                _ -> certificate())
            .gives(NodeCertificateView.class),
        Route.get("/cluster/backup", "Copy all that the cluster stores.", decided(_ -> backup()))
            .givesType(BYTES, "A snapshot of etcd, for POST /cluster/restore."),
        Route.post(
                "/cluster/restore",
                "Begin the cluster anew from a snapshot, with this node alone storing its state.",
                this::restore)
            .withFlag("force", "Also when the cluster answers.")
            .takes(BYTES, "The snapshot; the state as this node has it when empty.")
            .givesNothing(),
        Route.post("/cluster/leave", "Take this node out of its cluster.", this::leave)
            .takes(LeaveCluster.class)
            .givesNothing(),
        Route.get("/nodes", "List the nodes of the cluster.", _ -> nodes())
            .givesMany(NodeView.class),
        Route.get("/nodes/{name}", "Show a node by its name or id.", this::node)
            .gives(NodeView.class),
        Route.post("/nodes/{name}/labels", "Set and remove labels of a node.", decided(this::label))
            .takes(ChangeLabels.class)
            .gives(NodeView.class),
        Route.post(
                "/nodes/{name}/scheduling",
                "Decide whether a node gets replicas.",
                decided(this::schedule))
            .takes(ChangeScheduling.class)
            .gives(NodeView.class),
        Route.post(
                "/nodes/{name}/certificate",
                "Give a node a new key and certificate, and revoke the old one.",
                this::rotate)
            .gives(NodeCertificateView.class),
        Route.delete("/nodes/{name}", "Remove a node that is lost for good.", this::remove)
            .withFlag("force", "Also when it is alive.")
            .givesNothing());
  }

  private ApiResponse init(ApiRequest call) throws InterruptedException {
    InitCluster wanted = call.body(InitCluster.class);
    Cluster made =
        cluster.init(
            wanted.name(), wanted.advertise(), wanted.etcd().map(UseEtcd::etcd), wanted.encrypt());
    return ApiResponse.json(201, ViewJson.of(token(made, Duration.ofHours(1))));
  }

  private ApiResponse join(ApiRequest call) throws InterruptedException {
    JoinCluster wanted = call.body(JoinCluster.class);
    Cluster joined =
        cluster.join(
            wanted.through(), wanted.token(), wanted.name(), wanted.advertise(), wanted.server());
    return ApiResponse.json(ViewJson.of(status(joined)));
  }

  private ApiResponse token(ApiRequest call) throws InterruptedException {
    Duration expires = call.body(NewJoinToken.class).expires();
    if (expires.compareTo(Duration.ofMinutes(1)) < 0 || expires.compareTo(LONGEST_TOKEN) > 0) {
      throw new AgentException.InvalidSpec("a join token is valid between 1m and 7d");
    }
    return ApiResponse.json(201, ViewJson.of(token(cluster.cluster(), expires)));
  }

  private static JoinTokenView token(Cluster cluster, Duration expires)
      throws InterruptedException {
    NodeIdentity identity = cluster.identity();
    if (!identity.server()) {
      throw new AgentException.Conflict(
          "this node cannot admit others; run this on a server ('zlayer node ls' shows them)");
    }
    String token = cluster.token(expires).text();
    return new JoinTokenView(
        token,
        identity.address(),
        "zlayer cluster join %s --token %s".formatted(identity.address(), token));
  }

  private ApiResponse restore(ApiRequest call) throws InterruptedException {
    boolean force = call.flag("force", false);
    try {
      Path file = Files.createTempFile("zlayer-cluster", ".snapshot");
      try (InputStream body = call.body()) {
        long size = Files.copy(body, file, StandardCopyOption.REPLACE_EXISTING);
        cluster.restore(size == 0 ? Optional.empty() : Optional.of(file), force);
      } finally {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new AgentException.Configuration("cannot keep the snapshot: " + e.getMessage(), e);
    }
    return ApiResponse.done();
  }

  private ApiResponse backup() throws InterruptedException {
    Cluster own = cluster.cluster();
    try {
      own.checkBackup();
    } catch (IOException e) {
      throw new AgentException.Network("cannot read a snapshot of etcd: " + e.getMessage(), e);
    }
    return new ApiResponse.Bytes(BYTES, Map.of(), own::backup);
  }

  private ApiResponse leave(ApiRequest call) throws InterruptedException {
    cluster.leave(call.body(LeaveCluster.class).force());
    return ApiResponse.done();
  }

  private ApiResponse status() throws InterruptedException {
    return ApiResponse.json(ViewJson.of(status(cluster.cluster())));
  }

  /** Also when the others cannot be asked, which is when one looks. */
  private ClusterStatusView status(Cluster cluster) throws InterruptedException {
    NodeIdentity identity = cluster.identity();
    NodeCertificateView certificate =
        NodeCertificateView.of(identity.name(), cluster.certificate());
    Optional<String> problem = cluster.problem().or(this.cluster::problem).or(certificate::problem);
    try {
      return new ClusterStatusView(
          identity.cluster(),
          identity.id(),
          identity.name(),
          problem,
          Optional.empty(),
          leader(),
          certificate,
          cluster.encrypted(),
          cluster.hasUsers(),
          cluster.servers().stream().map(ServerView::of).toList(),
          views(cluster.nodes()));
    } catch (AgentException.Network | AgentException.Timeout e) {
      return new ClusterStatusView(
          identity.cluster(),
          identity.id(),
          identity.name(),
          problem,
          Optional.of(String.valueOf(e.getMessage())),
          Optional.empty(),
          certificate,
          cluster.encrypted(),
          cluster.hasUsers(),
          List.of(),
          List.of());
    }
  }

  private Optional<String> leader() throws InterruptedException {
    Optional<ClusterNode.Member> member = cluster.member();
    if (member.isEmpty()) {
      return Optional.empty();
    }
    ClusterState state = member.get().deployments().state();
    return state.leader().map(state.members()::get).map(NodeRecord::name);
  }

  private ApiResponse nodes() throws InterruptedException {
    return ApiResponse.json(ViewJson.of(views(cluster.cluster().nodes())));
  }

  private List<NodeView> views(List<Cluster.Node> nodes) throws InterruptedException {
    Map<String, Integer> replicas = replicas();
    return nodes.stream().map(node -> NodeView.of(node, replicas)).toList();
  }

  /** How many replicas each node is assigned, by its id. */
  private Map<String, Integer> replicas() throws InterruptedException {
    Optional<ClusterNode.Member> member = cluster.member();
    var counts = new HashMap<String, Integer>();
    if (member.isPresent()) {
      member
          .get()
          .deployments()
          .state()
          .assignments()
          .forEach(
              (place, assignment) ->
                  assignment
                      .replicas()
                      .values()
                      .forEach(
                          numbers -> counts.merge(place.node(), numbers.size(), Integer::sum)));
    }
    return counts;
  }

  private ApiResponse node(ApiRequest call) throws InterruptedException {
    return view(cluster.cluster().node(call.path("name")));
  }

  private ApiResponse label(ApiRequest call) throws InterruptedException {
    ChangeLabels wanted = call.body(ChangeLabels.class);
    return view(cluster.cluster().label(call.path("name"), wanted.set(), wanted.remove()));
  }

  private ApiResponse schedule(ApiRequest call) throws InterruptedException {
    return view(
        cluster
            .cluster()
            .schedule(call.path("name"), call.body(ChangeScheduling.class).scheduling()));
  }

  private ApiResponse view(Cluster.Node node) throws InterruptedException {
    return ApiResponse.json(ViewJson.of(views(List.of(node)).getFirst()));
  }

  private ApiResponse certificate() {
    if (!cluster.belongs()) {
      throw new AgentException.NotFound(
          "certificate of this node", "it is in no cluster, which alone has them");
    }
    Cluster own = cluster.cluster();
    return ApiResponse.json(
        ViewJson.of(NodeCertificateView.of(own.identity().name(), own.certificate())));
  }

  private ApiResponse rotate(ApiRequest call) throws InterruptedException {
    Cluster own = cluster.cluster();
    Cluster.Node node = own.node(call.path("name"));
    if (node.self()) {
      return ApiResponse.json(
          ViewJson.of(NodeCertificateView.of(node.node().name(), own.rotate())));
    }
    NodeRecord other = node.node();
    if (node.facts().isEmpty()) {
      throw new AgentException.Network(
          "node '%s' is lost; it keeps its certificate until it is back".formatted(other.name()));
    }
    var peer = new NodeShares.Peer(other.id(), other.name(), other.address());
    ClusterNode.Member member = cluster.member().orElseThrow();
    return member.calls().forward(peer, call, call.target());
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    Cluster own = cluster.cluster();
    Cluster.Node node = own.node(call.path("name"));
    if (!own.decides() && !node.self()) {
      return ServerRequests.passOn(cluster, call, Optional.of(node.node().id()));
    }
    own.remove(call.path("name"), call.flag("force", false));
    return ApiResponse.done();
  }

  /** Done by a node that stores the state, where no other one may. */
  private RouteHandler decided(RouteHandler action) {
    return call ->
        cluster.cluster().decides()
            ? action.answer(call)
            : ServerRequests.passOn(cluster, call, Optional.empty());
  }
}

package dev.zlayer.daemon;

import dev.zlayer.daemon.access.AuditLog;
import dev.zlayer.daemon.access.TokenStore;
import dev.zlayer.daemon.backup.StateBackup;
import dev.zlayer.daemon.build.ImageBuilder;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.daemon.docker.DockerEngineApi;
import dev.zlayer.daemon.docker.DockerResources;
import dev.zlayer.daemon.docker.ExecRegistry;
import dev.zlayer.daemon.http.HttpApi;
import dev.zlayer.daemon.http.HttpListener;
import dev.zlayer.daemon.http.PreparedServer;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.daemon.http.TcpListener;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.daemon.metrics.AgentGauges;
import dev.zlayer.daemon.metrics.IngressGauges;
import dev.zlayer.daemon.metrics.Metrics;
import dev.zlayer.daemon.rest.ContainerLookup;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.rest.ResourceContext;
import dev.zlayer.daemon.rest.RouteScopes;
import dev.zlayer.daemon.rest.SystemResource;
import dev.zlayer.daemon.rest.cluster.ClusterRoutes;
import dev.zlayer.daemon.rest.doc.OpenApi;
import dev.zlayer.daemon.web.Dashboard;
import dev.zlayer.daemon.web.DashboardSessions;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.PassedSocket;
import dev.zlayer.runtime.oci.OciRuntime;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** An agent with its listeners open. */
public final class Daemon implements AutoCloseable {
  /** Members may use the socket for clients of Docker. */
  private static final String DOCKER_GROUP = "zlayer";

  private static final String VERSION = Version.CURRENT.version();

  private final Agent agent;
  private final IdempotencyKeys idempotency;
  private final TokenStore tokens;
  private final AuditLog audit;
  private final ExecRegistry execs;
  private final ImageBuilder builder;
  private final HttpListener listener;
  private final DashboardSessions sessions;
  private final Dashboard dashboard;
  private final ClusterNode cluster;
  private final Parts parts;

  private Daemon(Configured configured, Map<String, String> env, Log log)
      throws InterruptedException {
    this.parts = new Parts(log);
    AgentConfig config = configured.config();
    Optional<TcpListener> tcp = TcpSettings.of(config);
    Parts.Pending<PreparedServer> server = parts.begin("the HTTP server", PreparedServer::start);
    this.agent = parts.start("the agent", () -> Agent.open(config, env, log));
    this.idempotency = new IdempotencyKeys(agent.store(), InstantSource.system());
    this.tokens =
        parts.make("the tokens", () -> TokenStore.open(agent.store(), InstantSource.system()));
    this.audit =
        parts.make(
            "the audit log",
            () -> AuditLog.open(agent.store(), InstantSource.system(), config.auditRecords(), log));
    this.builder =
        parts.make(
            "the builder of images",
            () ->
                new ImageBuilder(
                    config.directories(),
                    agent.oci().map(oci -> oci.tools().runtime().path()),
                    agent.runtime().images(),
                    agent.images().images(),
                    agent.networks()));
    var access = new HttpListener.Access(tokens, RouteScopes::of, audit);
    this.sessions =
        parts.make(
            "the sessions of the dashboard",
            () -> DashboardSessions.open(agent.store(), InstantSource.system()));
    this.dashboard =
        new Dashboard(
            TcpSettings.dashboard(config), sessions, agent.store(), InstantSource.system());
    this.cluster = parts.start("the place in the cluster", () -> new ClusterNode(agent));
    var clustered =
        new ClusterRoutes(
            cluster,
            new ContainerLookup(agent.runtime()),
            agent.deployments(),
            agent.jobs(),
            new ResourceEvents(agent.store(), InstantSource.system()));
    List<Route> routes =
        routes(resources(configured, env)).stream().map(clustered::around).toList();
    var router = new Router(routes);
    this.execs = parts.start("the processes of Docker clients", ExecRegistry::new);
    PreparedServer prepared = server.await();
    this.listener =
        parts.start(
            "the HTTP listener",
            () ->
                HttpListener.open(
                    prepared,
                    sockets(config, env, new DockerEngineApi(dockerRoutes(), VERSION)),
                    tcp,
                    router,
                    access,
                    agent.metrics(),
                    log));
    agent.oci().ifPresent(oci -> oci.listen(config.socketPath()));
    parts.make(
        "the dashboard",
        () -> dashboard.begin(listener, router, config.dashboardListen().isPresent(), log));
    parts.make("the cluster", () -> cluster.begin(listener, routes, log));
  }

  /** Returns when it serves; see {@link Agent#open}. */
  public static Daemon open(Configured configured, Map<String, String> env, Log log)
      throws InterruptedException {
    return new Daemon(configured, env, log);
  }

  private List<Route> routes(List<Resource> resources) {
    return resources.stream()
        .flatMap(resource -> resource.routes().stream())
        .map(route -> route.frees() ? route.with(this::withReserve) : route)
        .map(route -> route.repeatable() ? idempotency.around(route) : route)
        .toList();
  }

  /** A full disk must not keep anybody from freeing some of it. */
  private RouteHandler withReserve(RouteHandler action) {
    return call -> {
      agent.reserve().release();
      try {
        return action.answer(call);
      } finally {
        agent.reserve().restore();
      }
    };
  }

  private List<Resource> resources(Configured configured, Map<String, String> env) {
    var resources = new ArrayList<Resource>();
    var gauges = new AgentGauges(agent.runtime(), agent.jobs(), agent.certificates());
    var ingress = new IngressGauges(agent.ingress());
    Metrics.Gauges all =
        () -> Stream.concat(gauges.read().stream(), ingress.read().stream()).toList();
    var system =
        new SystemResource(
            configured,
            () -> NodeInfo.look(agent, env),
            agent::health,
            () -> agent.metrics().text(all),
            () -> OpenApi.of(resources, Version.CURRENT.version()));
    resources.addAll(
        new ResourceContext(
                system,
                agent.deployments(),
                agent.runtime(),
                agent.standalone(),
                agent.translator(),
                agent.jobs(),
                agent.cron(),
                agent.images(),
                builder,
                agent.secrets(),
                agent.volumes(),
                agent.volumeUsers(),
                agent.networks(),
                agent.oci().map(OciRuntime::gpus),
                agent.certificates(),
                agent.ingress(),
                new StateBackup(agent.config().directories(), InstantSource.system()),
                agent.store(),
                agent.history(),
                tokens,
                audit,
                dashboard,
                cluster,
                InstantSource.system())
            .all());
    return resources;
  }

  private List<Route> dockerRoutes() {
    return routes(
        new DockerResources(
                VERSION,
                agent.config(),
                agent.runtime(),
                agent.standalone(),
                agent.deployments(),
                agent.images(),
                builder,
                agent.volumes(),
                agent.networks(),
                agent.store(),
                () -> agent.secrets().redaction(),
                execs,
                agent.replicaEvents(),
                agent.oci().map(OciRuntime::tools),
                InstantSource.system())
            .all());
  }

  private static List<HttpListener.UnixSocket> sockets(
      AgentConfig config, Map<String, String> env, HttpApi docker) {
    var sockets = new ArrayList<HttpListener.UnixSocket>();
    sockets.add(
        new HttpListener.UnixSocket(
            config.socketPath(),
            config.socketGroup(),
            false,
            Optional.empty(),
            passed(config.socketPath(), env)));
    config
        .readOnlySocket()
        .ifPresent(
            path ->
                sockets.add(
                    new HttpListener.UnixSocket(
                        java.nio.file.Path.of(path), config.socketGroup(), true)));
    config
        .dockerSocketPath()
        .ifPresent(
            path ->
                sockets.add(
                    new HttpListener.UnixSocket(
                        path, dockerGroup(config, path), false, Optional.of(docker), false)));
    return sockets;
  }

  private static boolean passed(java.nio.file.Path socket, Map<String, String> env) {
    Optional<java.nio.file.Path> passed = PassedSocket.take(env);
    passed
        .filter(path -> !path.equals(socket.toAbsolutePath()))
        .ifPresent(
            path -> {
              throw new AgentException.Configuration(
                  "the service manager listens on %s, but the socket of this agent is %s: change ListenStream of its socket unit, or 'socket'"
                      .formatted(path, socket));
            });
    return passed.isPresent();
  }

  /** The group that was made for this socket, where somebody made it. */
  private static Optional<String> dockerGroup(AgentConfig config, java.nio.file.Path socket) {
    return config
        .dockerSocketGroup()
        .or(() -> Optional.of(DOCKER_GROUP).filter(name -> HttpListener.groupExists(socket, name)));
  }

  public Agent agent() {
    return agent;
  }

  /** Does what would have kept it from serving earlier and is not needed for that. */
  void complete() {
    listener.complete();
  }

  /** Where other machines reach it, if they may. */
  public Optional<String> address() {
    return listener.address();
  }

  /** Takes no more requests, ends the agent, leaves the containers running. */
  @Override
  public void close() {
    parts.close();
  }
}

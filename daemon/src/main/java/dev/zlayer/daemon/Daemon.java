package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.daemon.http.HttpDoor;
import dev.zlayer.daemon.http.HttpObserver;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.daemon.http.TcpDoor;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.daemon.rest.ContainerInsideResource;
import dev.zlayer.daemon.rest.ContainersResource;
import dev.zlayer.daemon.rest.DeploymentsResource;
import dev.zlayer.daemon.rest.EventsResource;
import dev.zlayer.daemon.rest.ExecutionsResource;
import dev.zlayer.daemon.rest.ImagesResource;
import dev.zlayer.daemon.rest.JobsResource;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.rest.SecretsResource;
import dev.zlayer.daemon.rest.StatsResource;
import dev.zlayer.daemon.rest.SystemResource;
import dev.zlayer.task.Pauses;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** An agent with its doors open. */
public final class Daemon implements AutoCloseable {
  private final Agent agent;
  private final HttpDoor door;
  private final Parts parts;

  private Daemon(Configured configured, Map<String, String> env, Log log)
      throws InterruptedException {
    this.parts = new Parts(log);
    AgentConfig config = configured.config();
    Optional<TcpDoor> tcp = TcpSettings.of(config);
    this.agent = parts.start("the agent", () -> Agent.open(config, env, log));
    var router =
        new Router(
            resources(configured, env).stream()
                .flatMap(resource -> resource.routes().stream())
                .toList());
    this.door =
        parts.start(
            "the HTTP door",
            () -> HttpDoor.open(sockets(config), tcp, router, HttpObserver.NONE, log));
  }

  /** Returns when it serves; see {@link Agent#open}. */
  public static Daemon open(Configured configured, Map<String, String> env, Log log)
      throws InterruptedException {
    return new Daemon(configured, env, log);
  }

  private List<Resource> resources(Configured configured, Map<String, String> env) {
    InstantSource clock = InstantSource.system();
    return List.of(
        new SystemResource(
            configured, () -> NodeInfo.look(agent, env), () -> new Health(true, Map.of())),
        new DeploymentsResource(agent.deployments()),
        new ContainersResource(agent.runtime(), agent.standalone(), agent.translator()),
        new ContainerInsideResource(agent.runtime(), agent.standalone(), clock),
        new StatsResource(agent.runtime(), Pauses.REAL),
        new JobsResource(agent.jobs(), agent.cron(), agent.records()::jobs),
        new ExecutionsResource(agent.jobs(), clock),
        new ImagesResource(agent.runtime().images(), agent.images()),
        new SecretsResource(agent.secrets(), agent.deployments()::secretsChanged),
        new EventsResource(agent.store()));
  }

  private static List<HttpDoor.UnixSocket> sockets(AgentConfig config) {
    var sockets = new ArrayList<HttpDoor.UnixSocket>();
    sockets.add(new HttpDoor.UnixSocket(config.socketPath(), config.socketGroup(), false));
    config
        .readOnlySocket()
        .ifPresent(
            path ->
                sockets.add(
                    new HttpDoor.UnixSocket(
                        java.nio.file.Path.of(path), config.socketGroup(), true)));
    return sockets;
  }

  public Agent agent() {
    return agent;
  }

  /** Where other machines reach it, if they may. */
  public Optional<String> address() {
    return door.address();
  }

  /** Takes no more requests, ends the agent, leaves the containers running. */
  @Override
  public void close() {
    parts.close();
  }
}

package dev.zlayer.daemon.rest;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.view.DeploymentView;
import dev.zlayer.daemon.rest.view.DeploymentView.RevisionView;
import dev.zlayer.engine.deployment.DeploymentDiff;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.deployment.Progress;
import dev.zlayer.engine.deployment.Revision;
import dev.zlayer.engine.deployment.UpRequest;
import dev.zlayer.engine.deployment.WaitResult;
import dev.zlayer.engine.service.EndedReplica;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/** Deployments and their services. */
public final class DeploymentsResource implements Resource {
  private static final String YAML = "application/yaml";
  private static final Duration USUAL_WAIT = Duration.ofSeconds(60);

  private final Deployments deployments;
  private final LimitedUpdates limited;
  private final Optional<Ingress> ingress;
  private final InstantSource clock;

  /** How many replicas. */
  @Doc("How many replicas there should be.")
  public record Scale(@Doc("How many.") @Range(min = 0, max = 10_000) int replicas) {}

  /**
   * A replica, or an init step of one, whose container is removed.
   *
   * @param name of its container
   * @param status how it ended, for people
   */
  record Ended(
      String name,
      String deployment,
      String service,
      String role,
      int replica,
      String state,
      String status,
      Instant finished) {
    static Ended of(ServiceKey service, EndedReplica ended) {
      return new Ended(
          ended.container(),
          service.deployment(),
          service.service(),
          ended.role(),
          ended.replica(),
          "removed",
          ended.status(),
          ended.at());
    }
  }

  /**
   * A line while a deployment is being made true.
   *
   * @param type event, pull, service, and at last result
   */
  record ProgressLine(String type, Optional<String> outcome, Optional<DeploymentView> status) {}

  /** Without an ingress where no Linux containers run. */
  public DeploymentsResource(
      Deployments deployments, Optional<Ingress> ingress, InstantSource clock) {
    this.deployments = deployments;
    this.ingress = ingress;
    this.clock = clock;
    this.limited = new LimitedUpdates(deployments);
  }

  @Override
  public String title() {
    return "Deployments";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/deployments", "List deployments.", this::list)
            .with("deployment", "Only this one.")
            .givesMany(DeploymentView.class),
        Route.put("/deployments/{name}", "Apply a deployment file; idempotent.", this::up)
            .with(
                "directory",
                "Absolute directory that relative paths of the file are resolved against.")
            .withFlag("local", "In a cluster: run it on this node alone.")
            .with("wait", "Time to wait until it is ready, streaming progress or for the result.")
            .withHeader("If-Match", "ETag from GET; 412 if the deployment has changed since.")
            .withHeader("If-None-Match", "With *: 412 if the deployment exists.")
            .takes(YAML, "A deployment file.")
            .gives(DeploymentView.class)
            .streams(ProgressLine.class, "When asked for lines."),
        Route.post("/deployments/{name}/diff", "Show what a file would change.", this::diff)
            .with(
                "directory",
                "Absolute directory that relative paths of the file are resolved against.")
            .withFlag("local", "In a cluster: compare with what is of this node alone.")
            .takes(YAML, "A deployment file.")
            .gives(DeploymentDiff.class),
        Route.view("/deployments/{name}", "Show a deployment.", this::show)
            .gives(DeploymentView.class),
        Route.get("/deployments/{name}/spec", "Show the current deployment file.", this::spec)
            .with("revision", "Revision number (default: the current one).")
            .givesType(YAML, "As it was given."),
        Route.view("/deployments/{name}/revisions", "List revisions.", this::revisions)
            .givesMany(RevisionView.class),
        Route.post(
                "/deployments/{name}/rollback", "Roll back to an earlier revision.", this::rollback)
            .withNumber("revision", "Revision number (default: the previous one).")
            .with("wait", "Time to wait until it is ready.")
            .gives(DeploymentView.class)
            .streams(ProgressLine.class, "When asked for lines."),
        Route.delete("/deployments/{name}", "Stop and remove a deployment.", this::down)
            .freeing()
            .withFlag("volumes", "Also remove its volumes.")
            .with("wait", "Time to wait until it is removed.")
            .givesNothing()
            .streams(ProgressLine.class, "When asked for lines."),
        Route.post(
                "/deployments/{name}/start",
                "Start all its services.",
                call -> act(() -> deployments.start(call.path("name"))))
            .givesNothing(),
        Route.post(
                "/deployments/{name}/stop",
                "Stop all its services until they are started.",
                this::stopAll)
            .freeing()
            .with("wait", "Time to wait until they have stopped.")
            .givesNothing(),
        Route.post(
                "/deployments/{name}/restart",
                "Restart all its services, replica by replica.",
                call -> act(() -> deployments.restart(call.path("name"))))
            .givesNothing(),
        Route.view("/deployments/{name}/services", "List its services.", this::services)
            .givesMany(DeploymentView.ServiceView.class),
        Route.view("/deployments/{name}/services/{service}", "Show a service.", this::service)
            .gives(DeploymentView.ServiceView.class),
        Route.view(
                "/deployments/{name}/services/{service}/ended",
                "Show the last output of exited replicas and init steps, oldest first.",
                call -> ApiResponse.json(ViewJson.of(deployments.ended(key(call)))))
            .givesMany(EndedReplica.class),
        Route.view(
                "/ended",
                "List exited replicas and failed init steps, without their output.",
                this::ended)
            .with("deployment", "Only of this deployment.")
            .with("service", "Only of this service.")
            .givesMany(Ended.class),
        Route.post(
                "/deployments/{name}/services/{service}/scale",
                "Set the number of replicas.",
                this::scale)
            .takes(Scale.class)
            .givesNothing(),
        Route.post(
                "/deployments/{name}/services/{service}/start",
                "Start a stopped service.",
                call -> act(() -> deployments.start(key(call))))
            .givesNothing(),
        Route.post(
                "/deployments/{name}/services/{service}/stop",
                "Stop a service until it is started again.",
                this::stop)
            .freeing()
            .with("wait", "Time to wait until it has stopped.")
            .givesNothing(),
        Route.post(
                "/deployments/{name}/services/{service}/restart",
                "Restart a service, replica by replica.",
                call -> act(() -> deployments.restart(key(call))))
            .givesNothing());
  }

  private ApiResponse list(ApiRequest call) {
    Optional<String> only = call.query("deployment");
    return ApiResponse.json(
        ViewJson.of(
            deployments.list().stream()
                .filter(one -> only.map(one.name()::equals).orElse(true))
                .map(DeploymentView::of)
                .toList()));
  }

  private ApiResponse up(ApiRequest call) {
    OptionalLong seen = seen(call);
    UpRequest plain = request(call);
    if (call.deployment().isPresent()) {
      plain = limited.allowed(plain);
      seen = seen.isPresent() ? seen : plain.after();
    }
    try {
      Revision _ =
          deployments.up(new UpRequest(plain.name(), plain.file(), plain.directory(), seen));
    } catch (AgentException.Conflict e) {
      throw seen.isPresent() ? AccessDenied.changed(String.valueOf(e.getMessage())) : e;
    }
    return settled(call, _ -> true);
  }

  /** The revision that a caller has seen; none may exist for one that says so. */
  public static OptionalLong seen(ApiRequest call) {
    if (call.header("If-None-Match").filter("*"::equals).isPresent()) {
      return OptionalLong.of(0);
    }
    Optional<String> tag = call.header("If-Match");
    if (tag.isEmpty()) {
      return OptionalLong.empty();
    }
    if (!tag.get().matches("\"[0-9]{1,18}\"")) {
      throw AccessDenied.malformed("If-Match is the ETag of the deployment, such as \"3\"");
    }
    return OptionalLong.of(Long.parseLong(tag.get().replace("\"", "")));
  }

  private ApiResponse diff(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(deployments.diff(request(call))));
  }

  private static UpRequest request(ApiRequest call) {
    Path directory = Path.of(call.query("directory").orElse("/"));
    if (!directory.isAbsolute()) {
      throw new AgentException.InvalidSpec("the parameter 'directory' is not an absolute path");
    }
    return new UpRequest(Optional.of(call.path("name")), call.wholeBody(), directory);
  }

  private ApiResponse show(ApiRequest call) {
    DeploymentView view = withTraffic(call);
    return new ApiResponse.Whole(
        200,
        ApiRequest.JSON,
        JsonText.bytes(ViewJson.of(view)),
        Map.of("ETag", "\"" + view.revision() + "\""));
  }

  private DeploymentView withTraffic(ApiRequest call) {
    DeploymentStatus status = deployments.status(call.path("name"));
    var routed = new HashMap<ServiceKey, List<String>>();
    for (ServiceStatus service : status.services()) {
      List<String> endpoints =
          service.endpoints().stream()
              .filter(endpoint -> endpoint.route().routed())
              .map(EndpointSpec::name)
              .toList();
      if (!endpoints.isEmpty()) {
        routed.put(service.key(), endpoints);
      }
    }
    return DeploymentView.of(status)
        .with(
            routed.isEmpty()
                ? Map.of()
                : ingress.map(one -> one.recent(routed, clock.instant())).orElse(Map.of()));
  }

  private ApiResponse spec(ApiRequest call) {
    Optional<String> number = call.query("revision");
    return deployments.revisions(call.path("name")).reversed().stream()
        .filter(revision -> number.map(Long.toString(revision.number())::equals).orElse(true))
        .findFirst()
        .map(revision -> ApiResponse.text(YAML, revision.file()))
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "revision of '" + call.path("name") + "'", "unknown or expired revision"));
  }

  private ApiResponse revisions(ApiRequest call) {
    String name = call.path("name");
    List<Revision> revisions = deployments.revisions(name);
    if (revisions.isEmpty()) {
      throw new AgentException.NotFound(
          "deployment '" + name + "'", "'zlayer status' lists those there are");
    }
    return ApiResponse.json(ViewJson.of(revisions.stream().map(RevisionView::of).toList()));
  }

  private ApiResponse rollback(ApiRequest call) {
    Optional<Long> wanted = call.query("revision").map(DeploymentsResource::number);
    Revision _ = deployments.rollback(call.path("name"), wanted);
    return settled(call, _ -> true);
  }

  public static long number(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new AgentException.InvalidSpec("'%s' is not a revision".formatted(text), e);
    }
  }

  private ApiResponse down(ApiRequest call) {
    deployments.down(call.path("name"), call.flag("volumes", false));
    return settled(call, DeploymentsResource::concernsRemoval);
  }

  /** What a service failed at just before it was told to go is of no interest any more. */
  private static boolean concernsRemoval(Progress progress) {
    return !(progress instanceof Progress.Changed(var service))
        || service.state() == ServiceState.REMOVING;
  }

  /** What comes back of a change: progress, the end, or just that it was taken on. */
  private ApiResponse settled(ApiRequest call, Predicate<Progress> wanted) {
    String name = call.path("name");
    Optional<Duration> wait = call.duration("wait");
    if (call.accepts(ApiRequest.LINES)) {
      return new ApiResponse.Lines(
          out -> {
            out.flush();
            WaitResult end =
                await(
                    name,
                    wait.orElse(USUAL_WAIT),
                    progress -> {
                      if (wanted.test(progress)) {
                        write(progress, out);
                      }
                    });
            out.line(result(end));
          });
    }
    if (wait.isEmpty()) {
      return deployments
          .find(name)
          .map(status -> ApiResponse.json(202, ViewJson.of(DeploymentView.of(status))))
          .orElseGet(ApiResponse::done);
    }
    return new ApiResponse.Later(() -> ApiResponse.json(result(await(name, wait.get(), _ -> {}))));
  }

  private WaitResult await(
      String name, Duration wait, java.util.function.Consumer<Progress> progress)
      throws InterruptedException {
    try {
      return deployments.awaitStable(name, Deadline.after(wait), progress);
    } catch (AgentException.NotFound _) {
      return WaitResult.removed();
    }
  }

  private static void write(Progress progress, ApiResponse.Lined out) {
    try {
      out.line(
          switch (progress) {
            case Progress.Happened(var event) ->
                typed("event", ViewJson.of(EventsResource.EventView.of(event)));
            case Progress.Pulling(String service, String image, var event) ->
                Json.object()
                    .put("type", "pull")
                    .put("service", service)
                    .put("image", image)
                    .put("progress", PullLines.json(event))
                    .build();
            case Progress.Changed(var service) ->
                Json.object()
                    .put("type", "service")
                    .put(
                        "service", ViewJson.of(DeploymentView.ServiceView.withoutReplicas(service)))
                    .build();
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e); // the caller has gone; the deployment goes on
    }
  }

  private static Json typed(String type, Json facts) {
    var line = Json.object().put("type", type);
    facts.members().forEach(line::put);
    return line.build();
  }

  private static Json result(WaitResult end) {
    var line =
        Json.object()
            .put("type", "result")
            .put("outcome", end.outcome())
            .putIf("status", end.status().map(DeploymentView::of).map(ViewJson::of))
            .putIf("service", end.service())
            .putIf("reason", end.reason().map(failure -> failure.message()))
            .putIf("failure", end.reason().map(ViewJson::of));
    end.reason().ifPresent(failure -> line.put("last_lines", failure.lastLines()));
    return line.build();
  }

  private ApiResponse services(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(withTraffic(call).services()));
  }

  private ApiResponse service(ApiRequest call) {
    return ApiResponse.json(
        ViewJson.of(
            withTraffic(call).services().stream()
                .filter(service -> service.name().equals(call.path("service")))
                .findFirst()
                .orElseThrow(
                    () ->
                        new AgentException.NotFound(
                            "service '" + key(call) + "'",
                            "the deployment has none of that name"))));
  }

  private ApiResponse ended(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    Optional<String> service = call.query("service");
    return ApiResponse.json(
        ViewJson.of(
            deployments
                .ended(
                    key ->
                        deployment.map(key.deployment()::equals).orElse(true)
                            && service.map(key.service()::equals).orElse(true))
                .entrySet()
                .stream()
                .flatMap(
                    entry -> entry.getValue().stream().map(one -> Ended.of(entry.getKey(), one)))
                .toList()));
  }

  private ApiResponse scale(ApiRequest call) {
    deployments.scale(key(call), call.body(Scale.class).replicas());
    return ApiResponse.done();
  }

  private ApiResponse stopAll(ApiRequest call) {
    deployments.stop(call.path("name"));
    return stopped(call, Optional.empty());
  }

  private ApiResponse stop(ApiRequest call) {
    deployments.stop(key(call));
    return stopped(call, Optional.of(call.path("service")));
  }

  private ApiResponse stopped(ApiRequest call, Optional<String> service) {
    Optional<Duration> wait = call.duration("wait");
    if (wait.isEmpty()) {
      return ApiResponse.done();
    }
    return new ApiResponse.Later(
        () -> {
          deployments.awaitStopped(call.path("name"), service, Deadline.after(wait.get()));
          return ApiResponse.done();
        });
  }

  private static ApiResponse act(Runnable act) {
    act.run();
    return ApiResponse.done();
  }

  private static ServiceKey key(ApiRequest call) {
    return new ServiceKey(call.path("name"), call.path("service"));
  }
}

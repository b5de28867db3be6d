package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterDeployments;
import dev.zlayer.cluster.deploy.ClusterFile;
import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.rest.DeploymentsResource;
import dev.zlayer.daemon.rest.LimitedUpdates;
import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.engine.deployment.DeploymentDiff;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** Requests about deployments of the cluster, on any of its nodes. */
final class ClusterRequests {
  private static final String YAML = "application/yaml";
  private static final Duration USUAL_WAIT = Duration.ofSeconds(60);

  /** The leader may not have seen what was asked for: what it could not place is not news yet. */
  private static final Duration PLACING = Duration.ofSeconds(3);

  private final ClusterNode.Member member;
  private final ClusterDeployments deployments;
  private final Peers calls;
  private final Function<String, Optional<Json>> own;

  /** {@code own} is what this node itself shows of a deployment. */
  ClusterRequests(ClusterNode.Member member, Function<String, Optional<Json>> own) {
    this.member = member;
    this.deployments = member.deployments();
    this.calls = member.calls();
    this.own = own;
  }

  boolean has(String name) throws InterruptedException {
    return deployments.find(name).isPresent();
  }

  /**
   * All deployments: those of the cluster once, with what each node shows of them.
   *
   * @param parts what each node lists, by its name
   */
  List<Json> list(Map<String, Json> parts, Optional<String> only) throws InterruptedException {
    var all = new ArrayList<Json>();
    Map<String, Map<String, Json>> shares = new HashMap<>();
    parts.forEach(
        (node, answer) ->
            answer
                .items()
                .forEach(
                    one -> {
                      String name = one.at("name").string().orElse("");
                      if (one.at("share").isNull()) {
                        all.add(ClusterStatus.on(node, one));
                      } else {
                        shares.computeIfAbsent(name, _ -> new LinkedHashMap<>()).put(node, one);
                      }
                    }));
    try {
      ClusterState state = deployments.state();
      for (Desired desired : state.desired().values()) {
        if (only.map(desired.name()::equals).orElse(true)) {
          all.add(status(state, desired).json(shares.getOrDefault(desired.name(), Map.of())));
        }
      }
    } catch (AgentException.Network | AgentException.Timeout _) {
      // what is desired is unknown: each node shows its part
      shares.forEach(
          (_, nodes) -> nodes.forEach((node, one) -> all.add(ClusterStatus.on(node, one))));
    }
    all.sort(java.util.Comparator.comparing(one -> one.at("name").string().orElse("")));
    return all;
  }

  private ClusterStatus status(ClusterState state, Desired desired) throws InterruptedException {
    return FollowedState.status(deployments, state, desired);
  }

  private ClusterStatus status(String name) throws InterruptedException {
    ClusterState state = deployments.state();
    Desired desired = state.desired().get(name);
    if (desired == null) {
      throw new AgentException.NotFound(
          "deployment '" + name + "'", "'zlayer status' lists those there are");
    }
    return status(state, desired);
  }

  /** Answers what is asked about a deployment of the cluster. */
  ApiResponse answer(Route route, RouteHandler local, ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    return switch (route.method()
        + " "
        + route.template().substring("/deployments/{name}".length())) {
      case "PUT " -> up(call);
      case "POST /diff" -> ApiResponse.json(ViewJson.of(diff(name, call.wholeBody())));
      case "GET " -> show(name);
      case "DELETE " -> {
        deployments.down(name, call.flag("volumes", false));
        yield settled(call);
      }
      case "GET /spec" -> spec(call);
      case "GET /revisions" -> revisions(name);
      case "POST /rollback" -> {
        var _ = deployments.rollback(name, call.query("revision").map(DeploymentsResource::number));
        yield settled(call);
      }
      case "POST /start" -> done(() -> deployments.start(name, Optional.empty()));
      case "POST /stop" -> stop(call, Optional.empty());
      case "POST /restart", "POST /services/{service}/restart" -> everywhere(local, call);
      case "GET /services" -> {
        Shown shown = shown(name);
        yield shown.part(shown.view().at("services"));
      }
      case "GET /services/{service}" -> service(name, call.path("service"));
      case "GET /services/{service}/ended" -> ended(local, call);
      case "POST /services/{service}/scale" ->
          done(
              () ->
                  deployments.scale(
                      name,
                      call.path("service"),
                      call.body(DeploymentsResource.Scale.class).replicas()));
      case "POST /services/{service}/start" ->
          done(() -> deployments.start(name, Optional.of(call.path("service"))));
      case "POST /services/{service}/stop" -> stop(call, Optional.of(call.path("service")));
      default ->
          throw new AgentException.Unsupported(
              "deployment '%s' is of the cluster, which cannot do this yet".formatted(name));
    };
  }

  /** Changes what is desired. */
  @FunctionalInterface
  private interface Request {
    void make() throws InterruptedException;
  }

  private static ApiResponse done(Request request) throws InterruptedException {
    request.make();
    return ApiResponse.done();
  }

  private ApiResponse up(ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    String directory = call.query("directory").orElse("/");
    if (!directory.startsWith("/")) {
      throw new AgentException.InvalidSpec("the parameter 'directory' is not an absolute path");
    }
    var seen = DeploymentsResource.seen(call);
    if (call.deployment().isPresent()) {
      Desired.File present = newest(name).orElseThrow(() -> LimitedUpdates.creating(name));
      LimitedUpdates.require(name, diff(Optional.of(present), name, call.wholeBody()));
      directory = present.directory();
      // what was compared must not change before it is replaced
      seen = seen.isPresent() ? seen : OptionalLong.of(present.number());
      if (seen.getAsLong() != present.number()) {
        throw AccessDenied.changed(
            "deployment '%s' has revision %d, not %d: read it again before changing it"
                .formatted(name, present.number(), seen.getAsLong()));
      }
    }
    try {
      var _ = deployments.up(name, call.wholeBody(), directory, seen);
    } catch (AgentException.Conflict e) {
      throw seen.isPresent() ? AccessDenied.changed(String.valueOf(e.getMessage())) : e;
    }
    return settled(call);
  }

  /** The file that is desired now. */
  private Optional<Desired.File> newest(String name) throws InterruptedException {
    Optional<Desired> desired = deployments.find(name);
    return deployments.files(name).stream()
        .filter(file -> desired.map(one -> one.revision() == file.number()).orElse(false))
        .findFirst();
  }

  private DeploymentDiff diff(String name, byte[] file) throws InterruptedException {
    return diff(newest(name), name, file);
  }

  private static DeploymentDiff diff(Optional<Desired.File> before, String name, byte[] file) {
    return DeploymentDiff.between(
        before.map(one -> version(name, one.text().getBytes(StandardCharsets.UTF_8))),
        version(name, file));
  }

  private static DeploymentDiff.Version version(String name, byte[] file) {
    return new DeploymentDiff.Version(
        ClusterFile.read(name, file), new String(file, StandardCharsets.UTF_8));
  }

  private ApiResponse show(String name) throws InterruptedException {
    Shown shown = shown(name);
    Map<String, String> headers = new HashMap<>(shown.others().headers());
    headers.put("ETag", "\"" + shown.view().at("revision").integer().orElse(0L) + "\"");
    return new ApiResponse.Whole(200, ApiRequest.JSON, JsonText.bytes(shown.view()), headers);
  }

  /** A deployment with its replicas on all nodes that answered. */
  private record Shown(Json view, Peers.Answers others) {
    ApiResponse part(Json part) {
      return new ApiResponse.Whole(200, ApiRequest.JSON, JsonText.bytes(part), others.headers());
    }
  }

  private Shown shown(String name) throws InterruptedException {
    var parts = new LinkedHashMap<String, Json>();
    own.apply(name).ifPresent(one -> parts.put(member.name(), one));
    Peers.Answers others =
        calls.getAll(
            member.peers(),
            "/deployments?deployment=" + ClusterRoutes.segment(name),
            Optional.empty());
    others
        .found()
        .forEach((peer, answer) -> answer.items().forEach(one -> parts.put(peer.name(), one)));
    return new Shown(status(name).json(parts), others);
  }

  private ApiResponse service(String name, String service) throws InterruptedException {
    Shown shown = shown(name);
    return shown.part(
        shown.view().at("services").items().stream()
            .filter(one -> one.at("name").string().equals(Optional.of(service)))
            .findFirst()
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "service '%s/%s'".formatted(name, service),
                        "the deployment has none of that name")));
  }

  private ApiResponse spec(ApiRequest call) throws InterruptedException {
    Optional<String> number = call.query("revision");
    return deployments.files(call.path("name")).reversed().stream()
        .filter(file -> number.map(Long.toString(file.number())::equals).orElse(true))
        .findFirst()
        .map(file -> ApiResponse.text(YAML, file.text()))
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "revision of '" + call.path("name") + "'", "unknown or expired revision"));
  }

  private ApiResponse revisions(String name) throws InterruptedException {
    var all = new ArrayList<Json>();
    for (Desired.File file : deployments.files(name)) {
      all.add(
          Json.object()
              .put("revision", file.number())
              .put("time", file.at())
              .put("reason", file.reason())
              .put("directory", file.directory())
              .build());
    }
    return ApiResponse.json(new Json.Arr(all));
  }

  /** Nodes do it with the replicas that they have. */
  private ApiResponse everywhere(RouteHandler local, ApiRequest call) throws InterruptedException {
    ClusterState state = deployments.state();
    Map<String, Desired.Assignment> assigned = state.assignments(call.path("name"));
    if (assigned.containsKey(member.id())) {
      var _ = local.answer(call);
    }
    for (Peer peer : member.peers()) {
      if (assigned.containsKey(peer.id())) {
        ApiResponse answer = calls.forward(peer, call, call.target());
        boolean refused =
            answer instanceof ApiResponse.Whole whole
                && whole.status() / 100 != 2
                && whole.status() != 404;
        if (refused) {
          return answer;
        }
      }
    }
    return ApiResponse.done();
  }

  private ApiResponse ended(RouteHandler local, ApiRequest call) throws InterruptedException {
    var all = new ArrayList<Json>();
    try {
      if (local.answer(call) instanceof ApiResponse.Whole own && own.status() == 200) {
        JsonText.parse(own.body())
            .items()
            .forEach(one -> all.add(ClusterStatus.on(member.name(), one)));
      }
    } catch (AgentException.NotFound _) {
      // none of its replicas was here
    }
    Peers.Answers others =
        calls.getAll(
            member.peers(), call.target().substring(Peers.BASE.length()), call.deployment());
    others
        .found()
        .forEach(
            (peer, answer) ->
                answer.items().forEach(one -> all.add(ClusterStatus.on(peer.name(), one))));
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(new Json.Arr(all)), others.headers());
  }

  private ApiResponse stop(ApiRequest call, Optional<String> service) throws InterruptedException {
    String name = call.path("name");
    deployments.stop(name, service);
    Optional<Duration> wait = call.duration("wait");
    if (wait.isEmpty()) {
      return ApiResponse.done();
    }
    return new ApiResponse.Later(
        () -> {
          Deadline deadline = Deadline.after(wait.get());
          var followed = new FollowedState(deployments, member.seen());
          while (running(followed.state(), name, service)) {
            deadline.check("stopping " + name);
            followed.pause(deadline);
          }
          return ApiResponse.done();
        });
  }

  /** Whether a node still has replicas of it, whatever it is assigned. */
  private static boolean running(ClusterState state, String name, Optional<String> service) {
    return state.reports().entrySet().stream()
        .filter(one -> one.getKey().deployment().equals(name))
        .anyMatch(
            one ->
                one.getValue().services().entrySet().stream()
                    .filter(entry -> service.map(entry.getKey()::equals).orElse(true))
                    .anyMatch(entry -> !entry.getValue().ready().isEmpty()));
  }

  /** What comes back of a change: progress, the end, or just that it was taken on. */
  private ApiResponse settled(ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    Optional<Duration> wait = call.duration("wait");
    if (call.accepts(ApiRequest.LINES)) {
      return new ApiResponse.Lines(
          out -> {
            out.flush();
            out.line(await(name, Deadline.after(wait.orElse(USUAL_WAIT)), out));
          });
    }
    if (wait.isEmpty()) {
      return has(name) ? ApiResponse.json(202, status(name).json(Map.of())) : ApiResponse.done();
    }
    return new ApiResponse.Later(
        () -> {
          try {
            return ApiResponse.json(await(name, Deadline.after(wait.get()), null));
          } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
          }
        });
  }

  private Json await(
      String name, Deadline deadline, ApiResponse.@org.jspecify.annotations.Nullable Lined out)
      throws InterruptedException, java.io.IOException {
    Deadline placing = Deadline.after(PLACING);
    List<ClusterStatus.Service> told = List.of();
    var followed = new FollowedState(deployments, member.seen());
    while (true) {
      Optional<ClusterStatus> found = followed.status(name);
      if (found.isEmpty()) {
        return Json.object().put("type", "result").put("outcome", "removed").build();
      }
      ClusterStatus now = found.get();
      if (out != null && !now.services().equals(told)) {
        for (ClusterStatus.Service service : now.services()) {
          out.line(
              Json.object()
                  .put("type", "service")
                  .put("service", service.json(List.of(), List.of()))
                  .build());
        }
        told = now.services();
      }
      Optional<ClusterStatus.Service> failed =
          now.services().stream()
              .filter(ClusterStatus.Service::failed)
              .filter(service -> !service.unplaced() || placing.passed())
              .findFirst();
      if (now.state().equals("running") || now.state().equals("stopped")) {
        return result("stable", now, Optional.empty());
      }
      if (failed.isPresent() || deadline.passed()) {
        return result(failed.isPresent() ? "failed" : "timeout", now, failed);
      }
      followed.pause(deadline);
    }
  }

  private static Json result(
      String outcome, ClusterStatus status, Optional<ClusterStatus.Service> failed) {
    return Json.object()
        .put("type", "result")
        .put("outcome", outcome)
        .put("status", status.json(Map.of()))
        .putIf("service", failed.map(ClusterStatus.Service::name))
        .putIf("reason", failed.flatMap(ClusterStatus.Service::error))
        .build();
  }
}

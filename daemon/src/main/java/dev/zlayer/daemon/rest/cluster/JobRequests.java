package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterExecution;
import dev.zlayer.cluster.deploy.ClusterSchedule;
import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.Desired;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.rest.JobsResource;
import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.engine.cron.CronStatus;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.schedule.CronSchedule;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Requests about jobs and schedules, on any node of a cluster. */
final class JobRequests {
  private final ClusterNode.Member member;
  private final JobExecutor jobs;

  JobRequests(ClusterNode.Member member, JobExecutor jobs) {
    this.member = member;
    this.jobs = jobs;
  }

  /** Jobs without a deployment, which are registered with a node, stay with it. */
  static boolean handles(String template) {
    return (template.startsWith("/jobs") && !template.startsWith("/jobs/-"))
        || template.startsWith("/cron");
  }

  ApiResponse answer(Route route, RouteHandler local, ApiRequest call) throws InterruptedException {
    return switch (route.template()) {
      case "/jobs" -> jobs(local, call);
      case "/cron" -> schedules(local, call);
      case "/cron/upcoming" -> upcoming(local, call);
      default -> ofJob(route, local, call);
    };
  }

  /** What all nodes list; a job of the cluster is the same on each of them. */
  private ApiResponse jobs(RouteHandler local, ApiRequest call) throws InterruptedException {
    ClusterState state = member.deployments().state();
    var all = new ArrayList<Json>();
    var shared = new TreeMap<String, Json>();
    Peers.Answers others = gather(local, call, (node, one) -> take(state, all, shared, node, one));
    for (Map.Entry<String, Json> one : shared.entrySet()) {
      all.add(job(state, one.getValue()));
    }
    all.sort(Comparator.comparing(one -> one.at("job").string().orElse("")));
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(new Json.Arr(all)), others.headers());
  }

  private static void take(
      ClusterState state, List<Json> all, Map<String, Json> shared, String node, Json one) {
    String deployment = one.at("deployment").string().orElse("");
    if (state.desired().containsKey(deployment)) {
      shared.merge(
          one.at("job").string().orElse(""),
          one,
          (first, second) -> last(second).compareTo(last(first)) > 0 ? second : first);
    } else {
      all.add(ClusterStatus.on(node, one));
    }
  }

  private static String last(Json job) {
    return job.at("last").at("id").string().orElse("");
  }

  /** With what the cluster knows of it. */
  private Json job(ClusterState state, Json one) throws InterruptedException {
    String deployment = one.at("deployment").string().orElse("");
    String name = one.at("name").string().orElse("");
    List<ClusterExecution> live = state.executions(deployment, name);
    var members = new LinkedHashMap<>(one.members());
    members.put("live", Json.of(live.size()));
    if (!live.isEmpty() && live.getLast().id().compareTo(last(one)) > 0) {
      members.put("last", ExecutionRecordView.of(live.getLast(), state));
    }
    for (CronStatus status : statuses(state, Optional.of(deployment))) {
      if (status.job().name().equals(name)) {
        members.put("cron", ViewJson.of(status));
      }
    }
    return new Json.Obj(members);
  }

  /** Takes what a node lists. */
  @FunctionalInterface
  private interface Taker {
    void take(String node, Json one);
  }

  private Peers.Answers gather(RouteHandler local, ApiRequest call, Taker taker)
      throws InterruptedException {
    if (local.answer(call) instanceof ApiResponse.Whole own && own.status() == 200) {
      JsonText.parse(own.body()).items().forEach(one -> taker.take(member.name(), one));
    }
    Peers.Answers others =
        member
            .calls()
            .getAll(
                member.peers(), call.target().substring(Peers.BASE.length()), call.deployment());
    others
        .found()
        .forEach((peer, answer) -> answer.items().forEach(one -> taker.take(peer.name(), one)));
    return others;
  }

  /** How the schedules of the cluster stand. */
  private List<CronStatus> statuses(ClusterState state, Optional<String> only)
      throws InterruptedException {
    var all = new ArrayList<CronStatus>();
    for (Desired desired : state.desired().values()) {
      if (only.map(desired.name()::equals).orElse(true)) {
        for (Map.Entry<String, ServiceSpec> one :
            member.deployments().spec(desired).services().entrySet()) {
          if (one.getValue().rtype() == RunType.CRON) {
            all.add(
                status(
                    new JobKey(desired.name(), one.getKey()),
                    one.getValue(),
                    state.schedule(desired.name(), one.getKey())));
          }
        }
      }
    }
    return all;
  }

  private static CronStatus status(
      JobKey job, ServiceSpec spec, Optional<ClusterSchedule> schedule) {
    CronSchedule times = ClusterSchedule.times(spec);
    return new CronStatus(
        job,
        times.expression().toString(),
        times.zone(),
        schedule.map(one -> one.enabled(spec)).orElse(spec.cron().enabled()),
        schedule.flatMap(ClusterSchedule::lastDue),
        schedule.flatMap(ClusterSchedule::lastRun),
        schedule.flatMap(one -> one.nextDue(spec)),
        schedule.flatMap(one -> one.nextRun(job.toString(), spec)),
        schedule.flatMap(ClusterSchedule::lastSkip),
        schedule.map(ClusterSchedule::skips).orElse(0L),
        Optional.empty());
  }

  private ApiResponse schedules(RouteHandler local, ApiRequest call) throws InterruptedException {
    ClusterState state = member.deployments().state();
    var all = new ArrayList<Json>();
    Peers.Answers others = gather(local, call, (node, one) -> all.add(ClusterStatus.on(node, one)));
    statuses(state, call.query("deployment")).forEach(one -> all.add(ViewJson.of(one)));
    all.sort(Comparator.comparing(one -> one.at("job").string().orElse("")));
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(new Json.Arr(all)), others.headers());
  }

  private ApiResponse upcoming(RouteHandler local, ApiRequest call) throws InterruptedException {
    ClusterState state = member.deployments().state();
    var all = new ArrayList<Json>();
    Peers.Answers others = gather(local, call, (node, one) -> all.add(ClusterStatus.on(node, one)));
    all.addAll(
        JobsResource.upcoming(
            call, statuses(state, call.query("deployment")), InstantSource.system().instant()));
    all.sort(Comparator.comparing(one -> one.at("due").string().orElse("")));
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(new Json.Arr(all)), others.headers());
  }

  private ApiResponse ofJob(Route route, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    String deployment = call.path("deployment");
    String job = call.path("job");
    ClusterState state = member.deployments().state();
    if (!state.desired().containsKey(deployment)) {
      return ofOneNode(local, call, new JobKey(deployment, job));
    }
    return switch (route.method() + " " + route.template()) {
      case "GET /jobs/{deployment}/{job}" -> show(state, local, call);
      case "POST /jobs/{deployment}/{job}/executions" ->
          begun(run(state, call, call.body(JobsResource.Run.class)));
      case "POST /cron/{deployment}/{job}/run" -> {
        requireSchedule(state, deployment, job);
        yield begun(run(state, call, JobsResource.Run.NOTHING));
      }
      case "POST /cron/{deployment}/{job}/enable" -> {
        member.jobs().enable(deployment, job, true);
        yield ApiResponse.done();
      }
      case "POST /cron/{deployment}/{job}/disable" -> {
        member.jobs().enable(deployment, job, false);
        yield ApiResponse.done();
      }
      default ->
          throw new AgentException.Unsupported(
              "deployment '%s' is of the cluster, which cannot do this yet".formatted(deployment));
    };
  }

  private void requireSchedule(ClusterState state, String deployment, String job)
      throws InterruptedException {
    if (member.jobs().spec(state, deployment, job).rtype() != RunType.CRON) {
      throw new AgentException.NotFound(
          "schedule '%s/%s'".formatted(deployment, job), "it is a job without one");
    }
  }

  private static ApiResponse begun(ClusterExecution execution) {
    return ApiResponse.json(
        201, Json.object().put("id", execution.id()).put("name", execution.name()).build());
  }

  private ClusterExecution run(ClusterState state, ApiRequest call, JobsResource.Run wanted)
      throws InterruptedException {
    String deployment = call.path("deployment");
    String job = call.path("job");
    ServiceSpec spec = member.jobs().spec(state, deployment, job);
    boolean typed = JobsResource.by(call) instanceof Trigger.Cli;
    return member
        .jobs()
        .trigger(
            deployment,
            job,
            new ClusterExecution.Request(
                typed ? "cli" : "endpoint",
                typed ? Optional.empty() : call.remote(),
                Optional.empty(),
                wanted.args(),
                wanted.env(),
                wanted.deadline(),
                wanted.priority().orElse(spec.job().priority()),
                call.header("Idempotency-Key")));
  }

  private ApiResponse show(ClusterState state, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    var found = new ArrayList<Json>();
    try {
      if (local.answer(call) instanceof ApiResponse.Whole own && own.status() == 200) {
        found.add(JsonText.parse(own.body()));
      }
    } catch (AgentException.NotFound _) {
      // this node has not applied it
    }
    Peers.Answers others =
        member
            .calls()
            .getAll(
                member.peers(), call.target().substring(Peers.BASE.length()), call.deployment());
    found.addAll(others.found().values());
    Optional<Json> newest = found.stream().max(Comparator.comparing(JobRequests::last));
    return newest.isPresent()
        ? new ApiResponse.Whole(
            200, ApiRequest.JSON, JsonText.bytes(job(state, newest.get())), others.headers())
        : local.answer(call);
  }

  /** A job of a deployment that is a node's own. */
  private ApiResponse ofOneNode(RouteHandler local, ApiRequest call, JobKey job)
      throws InterruptedException {
    if (jobs.definitions().stream().anyMatch(one -> one.key().equals(job))) {
      return local.answer(call);
    }
    String path =
        "/jobs/%s/%s"
            .formatted(ClusterRoutes.segment(job.deployment()), ClusterRoutes.segment(job.name()));
    Optional<Peer> owner =
        member.calls().getAll(member.peers(), path, call.deployment()).found().keySet().stream()
            .findFirst();
    return owner.isPresent()
        ? member.calls().forward(owner.get(), call, call.target())
        : local.answer(call);
  }
}

package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterExecution;
import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.rest.ExecutionsResource;
import dev.zlayer.daemon.rest.FrameWriter;
import dev.zlayer.daemon.rest.JobsResource;
import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.daemon.rest.view.ExecutionView;
import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Requests about executions, on any node of a cluster. A node that has an execution answers for it;
 * for one that waits, and one whose node is not there, the cluster's record does.
 */
final class ExecutionRequests {
  private static final String LIST = "/executions";
  private static final String ONE = "/executions/{id}";
  private static final int USUAL_LIMIT = 100;
  private static final int MOST = 1000;
  private static final Duration STEP = Duration.ofMillis(200);

  /** Executions run on without the cluster, so who waits for one outlasts much of it. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final Set<String> WAITING = Set.of(ONE + "/wait", ONE + "/follow");

  private final ClusterNode.Member member;
  private final JobExecutor jobs;

  ExecutionRequests(ClusterNode.Member member, JobExecutor jobs) {
    this.member = member;
    this.jobs = jobs;
  }

  static boolean handles(String template) {
    return template.startsWith(LIST) || template.equals("/queue");
  }

  ApiResponse answer(Route route, RouteHandler local, ApiRequest call) throws InterruptedException {
    return switch (route.template()) {
      case LIST -> list(call);
      case "/queue" -> queue(local, call);
      default -> one(route, local, call);
    };
  }

  private ApiResponse list(ApiRequest call) throws InterruptedException {
    ClusterState state = member.deployments().state();
    var byId = new TreeMap<String, Json>();
    for (Execution own : ExecutionsResource.fitting(jobs, call)) {
      keep(byId, ClusterStatus.on(member.name(), ViewJson.of(ExecutionView.of(own))));
    }
    String query =
        String.join(
            "&",
            List.of("deployment", "job", "status").stream()
                .flatMap(
                    name ->
                        call
                            .query(name)
                            .map(text -> name + "=" + ClusterRoutes.segment(text))
                            .stream())
                .toList());
    Peers.Answers others =
        member
            .calls()
            .getAll(member.peers(), LIST + "?limit=" + MOST + "&" + query, call.deployment());
    others
        .found()
        .forEach(
            (peer, answer) ->
                answer.items().forEach(one -> keep(byId, ClusterStatus.on(peer.name(), one))));
    var there = new HashSet<>(List.of(member.id()));
    others.found().keySet().forEach(peer -> there.add(peer.id()));
    for (ClusterExecution one : state.executions().values()) {
      boolean begun = one.node().filter(there::contains).isPresent() && byId.containsKey(one.id());
      add(byId, one, state, call, !begun);
    }
    for (ClusterExecution one : member.jobs().results()) {
      boolean lost =
          one.progress().map(Progress::status).equals(Optional.of(ClusterExecution.LOST));
      add(byId, one, state, call, lost || one.node().filter(there::contains).isEmpty());
    }
    List<Json> all = new ArrayList<>(byId.descendingMap().values());
    int from = Math.min(call.number("offset").orElse(0), all.size());
    long to = Math.min((long) from + call.number("limit").orElse(USUAL_LIMIT), all.size());
    var headers = new TreeMap<>(others.headers());
    headers.put("X-Total-Count", Integer.toString(all.size()));
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(new Json.Arr(all.subList(from, (int) to))), headers);
  }

  /** Where two nodes had it, the one that was lost has cancelled it since. */
  private static void keep(Map<String, Json> byId, Json one) {
    byId.merge(
        one.at("id").string().orElseThrow(),
        one,
        (first, second) ->
            first.at("status").string().equals(Optional.of(ClusterExecution.CANCELLED))
                ? second
                : first);
  }

  private void add(
      Map<String, Json> byId,
      ClusterExecution one,
      ClusterState state,
      ApiRequest call,
      boolean wanted) {
    Json view = ExecutionRecordView.of(one, state);
    boolean fits =
        call.query("deployment").map(one.deployment()::equals).orElse(true)
            && call.query("job").map((one.deployment() + "/" + one.job())::equals).orElse(true)
            && call.query("status").map(view.at("status").string().orElse("")::equals).orElse(true);
    if (wanted && fits) {
      byId.put(one.id(), view);
    }
  }

  private ApiResponse queue(RouteHandler local, ApiRequest call) throws InterruptedException {
    ClusterState state = member.deployments().state();
    var all = new ArrayList<Json>();
    if (local.answer(call) instanceof ApiResponse.Whole own && own.status() == 200) {
      all.addAll(JsonText.parse(own.body()).items());
    }
    Optional<String> only = call.query("deployment");
    Peers.Answers others =
        member
            .calls()
            .getAll(
                member.peers(),
                "/queue"
                    + only.map(name -> "?deployment=" + ClusterRoutes.segment(name)).orElse(""),
                call.deployment());
    others.found().values().forEach(answer -> all.addAll(answer.items()));
    List<ClusterExecution> waiting =
        state.executions().values().stream()
            .filter(one -> one.node().isEmpty())
            .filter(one -> only.map(one.deployment()::equals).orElse(true))
            .sorted(
                Comparator.comparingInt((ClusterExecution one) -> -one.request().priority())
                    .thenComparing(ClusterExecution::created))
            .toList();
    for (int i = 0; i < waiting.size(); i++) {
      all.add(
          Json.object()
              .put("position", i)
              .put("execution", ExecutionRecordView.of(waiting.get(i), state))
              .build());
    }
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(new Json.Arr(all)), others.headers());
  }

  /**
   * Where an execution is.
   *
   * @param record as the cluster has it, if it is one of the cluster
   * @param here this node has it
   * @param peer the other node that has it
   */
  private record Found(
      ClusterState state, Optional<ClusterExecution> record, boolean here, Optional<Peer> peer) {
    boolean live() {
      return record.filter(one -> !one.finished()).isPresent();
    }
  }

  private ApiResponse one(Route route, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    String reference = call.path("id").replace(':', '/');
    boolean waits = WAITING.contains(route.template());
    Found found = waits ? await(reference, call, patience(call)) : find(reference, call);
    return switch (route.method() + " " + route.template().substring(ONE.length())) {
      case "GET " -> show(found, local, call);
      case "GET /wait" -> found.live() ? later(found, local, call) : show(found, local, call);
      case "GET /follow" -> follow(found, local, call);
      case "POST /cancel" -> found.live() ? cancel(found) : show(found, local, call);
      case "POST /retry" -> retry(found, local, call);
      default -> elsewhere(found, local, call);
    };
  }

  private static Duration patience(ApiRequest call) {
    return call.duration("timeout").filter(one -> one.compareTo(PATIENCE) < 0).orElse(PATIENCE);
  }

  private Found await(String reference, ApiRequest call, Duration limit)
      throws InterruptedException {
    return PatientRead.read(
        "execution '" + reference + "'",
        Deadline.after(limit),
        Pauses.REAL,
        () -> find(reference, call));
  }

  private Found find(String reference, ApiRequest call) throws InterruptedException {
    ClusterState state = member.deployments().state();
    Optional<ClusterExecution> live =
        state.executions().values().stream().filter(one -> named(one, reference)).findFirst();
    if (live.isPresent()) {
      return at(state, live.get(), call);
    }
    Optional<Execution> own =
        jobs.list().stream()
            .filter(one -> one.id().text().equals(reference) || one.name().equals(reference))
            .findFirst();
    Optional<ClusterExecution> ended =
        own.isEmpty()
            ? Optional.empty()
            : member
                .jobs()
                .result(own.get().job().deployment(), own.get().job().name(), own.get().number())
                .filter(one -> one.id().equals(own.get().id().text()));
    if (ended.isPresent()) {
      return at(state, ended.get(), call);
    }
    if (own.isPresent()) {
      return new Found(state, Optional.empty(), true, Optional.empty());
    }
    Optional<ClusterExecution> kept =
        member.jobs().results().stream().filter(one -> named(one, reference)).findFirst();
    if (kept.isPresent()) {
      return at(state, kept.get(), call);
    }
    Peers.Answers answers =
        member
            .calls()
            .getAll(
                member.peers(),
                "/executions/" + ClusterRoutes.segment(reference.replace('/', ':')),
                call.deployment());
    return new Found(state, Optional.empty(), false, answers.found().keySet().stream().findFirst());
  }

  private static boolean named(ClusterExecution one, String reference) {
    return one.id().equals(reference) || one.name().equals(reference);
  }

  /** The node that the cluster says; others may have had it before. */
  private Found at(ClusterState state, ClusterExecution one, ApiRequest call) {
    if (call.deployment().filter(only -> !only.equals(one.deployment())).isPresent()) {
      throw new AgentException.NotFound(
          "execution '" + one.id() + "'",
          "deployment '%s' has none such".formatted(call.deployment().get()));
    }
    boolean lost = one.progress().map(Progress::status).equals(Optional.of(ClusterExecution.LOST));
    Optional<String> node = one.node().filter(_ -> !lost);
    boolean here =
        node.filter(member.id()::equals).isPresent()
            && jobs.find(new ExecutionId(one.id())).isPresent();
    return new Found(
        state,
        Optional.of(one),
        here,
        member.peers().stream().filter(peer -> node.equals(Optional.of(peer.id()))).findFirst());
  }

  private ApiResponse show(Found found, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    if (found.here()) {
      return local.answer(call);
    }
    if (found.record().isEmpty()) {
      return elsewhere(found, local, call);
    }
    if (found.peer().isPresent()) {
      Peers.Answers answers =
          member
              .calls()
              .getAll(
                  List.of(found.peer().get()),
                  "/executions/" + found.record().get().id(),
                  call.deployment());
      Optional<Json> answer = answers.found().values().stream().findFirst();
      if (answer.isPresent()) {
        return ApiResponse.json(ClusterStatus.on(found.peer().get().name(), answer.get()));
      }
    }
    return ApiResponse.json(ExecutionRecordView.of(found.record().get(), found.state()));
  }

  /** Output and files are with the node that ran it. */
  private ApiResponse elsewhere(Found found, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    if (found.here()) {
      return local.answer(call);
    }
    if (found.peer().isPresent()) {
      return member.calls().forward(found.peer().get(), call, call.target());
    }
    if (found.record().isEmpty()) {
      return local.answer(call); // says that there is none
    }
    ClusterExecution one = found.record().get();
    throw new AgentException.NotFound(
        "output of execution '" + one.name() + "'",
        one.node().isEmpty()
            ? "it has not begun"
            : "its node '%s' does not answer"
                .formatted(ExecutionRecordView.node(found.state(), one)));
  }

  private ApiResponse later(Found found, RouteHandler local, ApiRequest call) {
    ClusterExecution one = found.record().orElseThrow();
    Deadline deadline = call.duration("timeout").map(Deadline::after).orElse(Deadline.none());
    return new ApiResponse.Later(
        () -> {
          Found now = found;
          while (now.live()) {
            if (deadline.passed()) {
              throw new AgentException.Timeout(
                  "waiting for execution '" + one.id() + "'", deadline.limit());
            }
            Pauses.REAL.pause(STEP);
            now = await(one.id(), call, deadline.atMost(PATIENCE).left());
          }
          return show(now, local, call);
        });
  }

  /**
   * What its node says as it comes, and that of the next node when it is lost. Only the cluster
   * knows when it has ended: a node that comes back cancels what was given to another one.
   */
  private ApiResponse follow(Found first, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    if (first.record().isEmpty()) {
      return elsewhere(first, local, call);
    }
    return new ApiResponse.Bytes(
        FrameWriter.TYPE,
        Map.of(),
        out -> {
          out.flush();
          try {
            stream(first, local, call, out);
          } catch (AgentException.Unavailable e) {
            var frames = new FrameWriter(out);
            frames.problem(e, call.id());
            frames.flush();
          }
        });
  }

  private void stream(Found first, RouteHandler local, ApiRequest call, OutputStream out)
      throws IOException, InterruptedException {
    String id = first.record().orElseThrow().id();
    Found now = first;
    boolean again = false;
    Optional<String> done = Optional.empty();
    var reasons = new FrameWriter(out);
    Optional<String> told = Optional.empty();
    while (true) {
      Optional<String> node = now.record().flatMap(ClusterExecution::node);
      if (!node.equals(done) && copied(now, local, call, again, out)) {
        done = node;
        again = true;
        now = await(id, call, PATIENCE);
      }
      if (!now.live()) {
        break;
      }
      Optional<String> reason =
          ExecutionRecordView.of(now.record().orElseThrow(), now.state()).at("reason").string();
      if (node.isEmpty() && reason.isPresent() && !reason.equals(told)) {
        reasons.waits(reason.get());
        reasons.flush();
        told = reason;
      }
      Pauses.REAL.pause(STEP);
      now = await(id, call, PATIENCE);
    }
    reasons.end(ended(now, local, call));
    reasons.flush();
  }

  /** As it is shown; {@code local} is about its output, so one of this node is read here. */
  private byte[] ended(Found found, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    ClusterExecution one = found.record().orElseThrow();
    if (found.here()) {
      Json own = ViewJson.of(ExecutionView.of(jobs.execution(new ExecutionId(one.id()))));
      return JsonText.bytes(ClusterStatus.on(member.name(), own));
    }
    return show(found, local, call) instanceof ApiResponse.Whole shown
        ? shown.body()
        : JsonText.bytes(ExecutionRecordView.of(one, found.state()));
  }

  /**
   * Copies what a node says; false when it does not have it yet, or does not answer.
   *
   * @param again another node was copied before, and this one begins with its first attempt
   */
  private boolean copied(
      Found found, RouteHandler local, ApiRequest call, boolean again, OutputStream out)
      throws IOException, InterruptedException {
    if (!found.here() && found.peer().isEmpty()) {
      return false;
    }
    ApiRequest asked = again ? call.without(Set.of("attempt", "since")) : call;
    String target = again ? call.target().replaceFirst("\\?.*", "") : call.target();
    try {
      ApiResponse answer =
          found.here()
              ? local.answer(asked)
              : member.calls().forward(found.peer().orElseThrow(), asked, target);
      if (answer instanceof ApiResponse.Bytes bytes) {
        var frames = new FrameWriter.Endless(out);
        bytes.writer().write(frames);
        frames.requireEnd();
        return true;
      }
    } catch (AgentException.Network | AgentException.Timeout _) {
      // the cluster says when it is lost
    }
    return false;
  }

  private ApiResponse cancel(Found found) throws InterruptedException {
    ClusterExecution ended = member.jobs().cancel(found.record().orElseThrow());
    return ApiResponse.json(ExecutionRecordView.of(ended, found.state()));
  }

  private ApiResponse retry(Found found, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    if (found.record().isEmpty()) {
      return elsewhere(found, local, call);
    }
    ClusterExecution before = found.record().get();
    if (!before.finished()) {
      throw new AgentException.Conflict(
          "execution '%s' has not ended; cancel it first or wait for it".formatted(before.name()));
    }
    boolean typed = JobsResource.by(call) instanceof Trigger.Cli;
    ClusterExecution again =
        member
            .jobs()
            .trigger(
                before.deployment(),
                before.job(),
                before.request().again(typed ? "cli" : "endpoint", call.remote()));
    return ApiResponse.json(201, ExecutionRecordView.of(again, found.state()));
  }
}

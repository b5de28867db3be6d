package dev.zlayer.testkit.cluster;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.cluster.FaultPlan.Operation;
import dev.zlayer.testkit.cluster.History.Request;
import dev.zlayer.testkit.cluster.History.Result;
import dev.zlayer.testkit.cluster.History.Scheduled;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The requests of a fault run, and what is desired after them. A request that was not answered may
 * or may not have been carried out, so several states may be the desired one until it is known
 * which one is.
 */
final class FaultRequests {
  private static final Duration LIMIT = Duration.ofSeconds(8);
  private static final Set<String> FINISHED = Set.of("completed", "failed", "lost", "cancelled");

  private final TestCluster cluster;
  private final Path shared;

  /** By key; the latest ones have no id until the cluster has acknowledged them. */
  private final Map<String, Asked> asked = new TreeMap<>();

  private final Map<String, Result> results = new TreeMap<>();
  private final Map<String, Scheduled> scheduled = new TreeMap<>();
  private final Candidates<Long> replicas = new Candidates<>(2L);
  private final Candidates<Boolean> running = new Candidates<>(true);
  private final Candidates<Boolean> present = new Candidates<>(false);
  private boolean maybeLost;
  private int ticks;

  private record Asked(Operation.RunJob job, Optional<String> id, boolean maybeLost) {}

  /** Values of which one is desired. */
  private static final class Candidates<T> {
    private final Set<T> values = new HashSet<>();
    private final Set<T> unknown = new HashSet<>();

    Candidates(T value) {
      values.add(value);
    }

    /**
     * @param answer how the request for it was answered, if it was
     */
    synchronized void asked(T value, Optional<TestNode.Answer> answer) {
      if (answer.isEmpty() || answer.get().status() / 100 == 5) {
        unknown.add(value);
      } else if (answer.get().success()) {
        values.clear();
        values.add(value);
      }
    }

    /** A request without an answer may be carried out as late as when its agent runs again. */
    synchronized Set<T> values() {
      var all = new HashSet<>(values);
      all.addAll(unknown);
      return all;
    }

    synchronized void found(T value) {
      values.clear();
      unknown.clear();
      values.add(value);
    }
  }

  FaultRequests(TestCluster cluster, Path shared) {
    this.cluster = cluster;
    this.shared = shared;
  }

  /** Another round begins. */
  void next(boolean maybeLost) {
    this.maybeLost = maybeLost;
  }

  void up(TestNode node, String deployment, String file) throws InterruptedException {
    TestNode.Answer answer = node.up(deployment, file, Duration.ofSeconds(30));
    if (!answer.success()) {
      throw new IllegalStateException(answer.text());
    }
  }

  void change(Operation operation) throws InterruptedException {
    TestNode node = cluster.node(operation.node());
    switch (operation) {
      case Operation.Scale(_, int number) ->
          replicas.asked(
              (long) number,
              answer(
                  node,
                  HttpRequest.of("POST", "/api/v1/deployments/busy/services/web/scale")
                      .withJson("{\"replicas\":%d}".formatted(number))));
      case Operation.Update(_, int step) -> {
        var _ = answer(() -> node.up("busy", FaultFiles.busy(shared, step), LIMIT));
      }
      case Operation.Switch(_, boolean on) ->
          running.asked(
              on,
              answer(
                  node,
                  HttpRequest.of("POST", "/api/v1/deployments/busy/" + (on ? "start" : "stop"))));
      case Operation.Toggle(_, boolean there) ->
          present.asked(
              there,
              there
                  ? answer(() -> node.up("brief", FaultFiles.brief(shared), LIMIT))
                  : answer(node, HttpRequest.of("DELETE", "/api/v1/deployments/brief"))
                      // there is none, which is what was asked for
                      .map(one -> one.status() == 404 ? new TestNode.Answer(204, "") : one));
      case Operation.Move(_, int step, int place) -> {
        Optional<String> pin =
            Optional.of(place).filter(number -> number > 0).map(one -> cluster.node(one).name());
        var _ = answer(() -> node.up("solo", FaultFiles.solo(shared, step, pin), LIMIT));
      }
      case Operation.RunJob job -> run(job);
    }
  }

  /** Asks for an execution; acknowledged or not, with a key that the cluster knows it by. */
  void run(Operation.RunJob job) throws InterruptedException {
    run(job, job.key());
  }

  private void run(Operation.RunJob job, String idempotencyKey) throws InterruptedException {
    remember(job, idempotencyKey, Optional.empty());
    Optional<TestNode.Answer> answer =
        answer(cluster.node(job.node()), request(job, idempotencyKey));
    answer
        .filter(TestNode.Answer::success)
        .ifPresent(one -> remember(job, idempotencyKey, one.json().at("id").string()));
  }

  private synchronized void remember(
      Operation.RunJob job, String idempotencyKey, Optional<String> id) {
    asked.merge(
        idempotencyKey,
        new Asked(job, id, maybeLost),
        (before, now) ->
            new Asked(job, now.id().or(before::id), before.maybeLost() || now.maybeLost()));
  }

  private static HttpRequest request(Operation.RunJob job, String idempotencyKey) {
    Json env =
        Json.object()
            .put("KEY", job.key())
            .put("PAUSE", Integer.toString(job.seconds()))
            .put("CODE", Integer.toString(job.code()))
            .build();
    return HttpRequest.of("POST", "/api/v1/jobs/batch/once/executions")
        .with("Idempotency-Key", idempotencyKey)
        .withJson(JsonText.print(Json.object().put("env", env).build()));
  }

  private static Optional<TestNode.Answer> answer(TestNode node, HttpRequest request)
      throws InterruptedException {
    return answer(() -> node.send(request, LIMIT));
  }

  @FunctionalInterface
  private interface Call {
    TestNode.Answer send() throws InterruptedException;
  }

  /** Empty when it is unknown what became of it. */
  private static Optional<TestNode.Answer> answer(Call call) throws InterruptedException {
    try {
      return Optional.of(call.send());
    } catch (AgentException _) {
      return Optional.empty();
    }
  }

  /** Does on purpose what must not happen. */
  void plant(FaultRun.Planted planted) throws IOException, InterruptedException {
    next(false);
    var job = new Operation.RunJob(1, "planted", 0, 0);
    switch (planted) {
      case NOTHING -> {}
      case DOUBLE_RUN -> {
        run(job, "planted-1");
        run(job, "planted-2");
      }
      case DOUBLE_INSTANCE -> {
        TestNode node = cluster.node(1);
        TestNode.Answer answer =
            node.up("second", FaultFiles.second(shared), Duration.ofSeconds(30), "&local=true");
        if (!answer.success()) {
          throw new IllegalStateException(answer.text());
        }
        TestCluster.await(
            "two run at the same time",
            Duration.ofSeconds(30),
            () -> FaultRecords.running(shared, FaultFiles.ALONE) > 1);
        Json _ = node.ok("DELETE", "/deployments/second?local=true&wait=30s", Json.Null.INSTANCE);
      }
      case LOST_RESULT -> {
        var slow = new Operation.RunJob(1, "planted-slow", 60, 0);
        run(slow);
        String id = Objects.requireNonNull(asked.get(slow.key())).id().orElseThrow();
        TestNode node = cluster.node(2);
        Json _ = node.ok("POST", "/executions/" + id + "/cancel", Json.Null.INSTANCE);
      }
    }
  }

  /** Why what was asked for is not reached. */
  Optional<String> problem() throws IOException, InterruptedException {
    for (Map.Entry<String, Asked> one : Map.copyOf(asked).entrySet()) {
      if (one.getValue().id().isEmpty()) {
        run(one.getValue().job(), one.getKey());
        if (Objects.requireNonNull(asked.get(one.getKey())).id().isEmpty()) {
          return Optional.of("the execution of %s is not acknowledged".formatted(one.getKey()));
        }
      }
    }
    Optional<String> problem = executions();
    if (problem.isPresent()) {
      return problem;
    }
    var counts = new HashSet<>(replicas.values());
    if (running.values().contains(false)) {
      counts.add(0L);
    }
    if (!running.values().contains(true)) {
      counts.retainAll(Set.of(0L));
    }
    problem = service("busy", "web", counts);
    if (problem.isPresent()) {
      return problem;
    }
    boolean there = exists("brief");
    if (!present.values().contains(there)) {
      return Optional.of("brief is %s".formatted(there ? "there" : "removed"));
    }
    return service("brief", "short", Set.of(there ? 1L : 0L));
  }

  /** Follows everything that is known now; the next round begins with it. */
  Optional<String> settle() throws IOException, InterruptedException {
    // which of the candidates it is
    Json web = status("busy").orElseThrow().at("services").items().getFirst();
    long wanted = web.at("wanted").integer().orElse(-1L);
    boolean stopped = web.at("state").string().filter("stopped"::equals).isPresent();
    running.found(!stopped);
    if (!stopped) {
      replicas.found(wanted);
    }
    present.found(exists("brief"));
    ticks = FaultRecords.ticks(shared); // before the list: what began is in it
    for (Json one :
        cluster.node(1).get("/executions?deployment=batch&job=batch/tick&limit=1000").items()) {
      String id = one.at("id").string().orElseThrow();
      one.at("due").string().ifPresent(due -> scheduled.put(id, new Scheduled(id, due)));
    }
    return Optional.empty();
  }

  private Optional<String> executions() throws InterruptedException {
    int turn = 0;
    for (Asked one : List.copyOf(asked.values())) {
      String id = one.id().orElseThrow();
      if (results.containsKey(id)) {
        continue;
      }
      TestNode node = cluster.nodes().get(turn++ % cluster.nodes().size());
      Json execution = node.get("/executions/" + id);
      String status = execution.at("status").string().orElse("");
      if (!FINISHED.contains(status)) {
        return Optional.of("the execution of %s is '%s'".formatted(one.job().key(), status));
      }
      String output = "";
      if (execution.at("code").integer().isPresent()) {
        output =
            node.ask("GET", "/executions/" + id + "/logs?format=raw", Json.Null.INSTANCE, LIMIT)
                .text();
      }
      results.put(
          id, new Result(id, status, execution.at("code").integer().map(Long::intValue), output));
    }
    return Optional.empty();
  }

  private static final Set<String> SETTLED = Set.of("running", "stopped", "idle");

  private Optional<Json> status(String deployment) throws InterruptedException {
    TestNode.Answer answer =
        cluster.node(2).ask("GET", "/deployments/" + deployment, Json.Null.INSTANCE, LIMIT);
    if (answer.status() == 404) {
      return Optional.empty();
    }
    if (!answer.success()) {
      throw new IllegalStateException(answer.text());
    }
    return Optional.of(answer.json());
  }

  private boolean exists(String deployment) throws InterruptedException {
    return status(deployment).isPresent();
  }

  /** As the cluster says, and as the containers themselves do. */
  Optional<String> service(String deployment, String name, Set<Long> counts)
      throws IOException, InterruptedException {
    Optional<Json> status = status(deployment);
    long ready = 0;
    if (status.isPresent()) {
      Json service = status.get().at("services").items().getFirst();
      ready = service.at("ready").integer().orElse(-1L);
      String state = service.at("state").string().orElse("");
      long wanted = service.at("wanted").integer().orElse(-1L);
      if (!SETTLED.contains(state)
          || (state.equals("running") && ready != wanted)
          || !counts.contains(ready)) {
        return Optional.of(
            "%s/%s is %s with %d ready replicas of %d; it should have %s"
                .formatted(deployment, name, state, ready, wanted, counts));
      }
    } else if (!counts.contains(0L)) {
      return Optional.of("%s is not there".formatted(deployment));
    }
    long alive = FaultRecords.running(shared, name);
    return alive == ready
        ? Optional.empty()
        : Optional.of(
            "%s/%s has %d ready replicas, and %d containers run"
                .formatted(deployment, name, ready, alive));
  }

  List<Request> requests() {
    var requests = new ArrayList<Request>();
    asked
        .values()
        .forEach(
            one ->
                requests.add(
                    new Request(one.job().key(), one.id(), one.job().code(), one.maybeLost())));
    return requests;
  }

  List<Result> results() {
    return List.copyOf(results.values());
  }

  List<Scheduled> scheduled() {
    return List.copyOf(scheduled.values());
  }

  int ticks() {
    return ticks;
  }
}

package dev.zlayer.testkit.cluster;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.cluster.FaultPlan.Operation;
import dev.zlayer.testkit.cluster.History.Round;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Faults and requests from a seed against a cluster with real containers, round after round: faults
 * begin, requests are made meanwhile, faults end, and the desired state has to be reached. What
 * happened is held against {@link HistoryCheck} at the end.
 */
public final class FaultRun {
  /** Of the agents: a single instance is started elsewhere within a fault. */
  public static final String SETTINGS = "cluster_claim_seconds: 6\n";

  /** In which the desired state is reached when faults have ended, also on a busy machine. */
  private static final Duration SETTLING = Duration.ofMinutes(2);

  /** The least that a round with its settling takes. */
  private static final Duration SHORTEST = Duration.ofSeconds(20);

  private final TestCluster cluster;
  private final Path shared;
  private final FaultPlan plan;
  private final Consumer<String> log;
  private final FaultRequests requests;
  private final List<Round> rounds = new ArrayList<>();
  private final List<Settled> settled = new ArrayList<>();
  private final List<String> unsettled = new ArrayList<>();

  /** What the check has to find: done on purpose, through the same entry points. */
  public enum Planted {
    NOTHING,
    DOUBLE_RUN,
    /** Of the single instance. */
    DOUBLE_INSTANCE,
    LOST_RESULT
  }

  /** How long it took until the desired state was reached after a fault had ended. */
  public record Settled(Fault fault, double seconds) {}

  public FaultRun(TestCluster cluster, FaultPlan plan, Consumer<String> log) throws IOException {
    this.cluster = cluster;
    this.shared = cluster.shared();
    this.plan = plan;
    this.log = log;
    this.requests = new FaultRequests(cluster, shared);
    for (String file : List.of("marks", "starts", "ticks")) {
      Files.writeString(shared.resolve(file), "");
    }
  }

  /** Applies what is to be kept running. */
  public void prepare() throws IOException, InterruptedException {
    TestNode first = cluster.node(1);
    requests.up(first, "steady", FaultFiles.steady(shared, cluster.nodes().size()));
    requests.up(first, "busy", FaultFiles.busy(shared, 0));
    requests.up(first, "batch", FaultFiles.batch(shared));
    requests.up(first, "solo", FaultFiles.solo(shared, 0, Optional.empty()));
    settle("the start", Deadline.after(SETTLING));
  }

  /**
   * Rounds until the time is over, or the desired state is not reached.
   *
   * @return what was broken
   */
  public List<String> run(Deadline until) throws IOException, InterruptedException {
    while (unsettled.isEmpty() && until.left().compareTo(SHORTEST) > 0) {
      round(plan.next());
    }
    return HistoryCheck.violations(history());
  }

  /** How long it took after each fault. */
  public List<Settled> settled() {
    return List.copyOf(settled);
  }

  /** How long no container of the single instance ran, each time that another one began. */
  public List<Double> gaps() throws IOException {
    return HistoryCheck.gaps(FaultRecords.marks(shared), FaultFiles.ALONE);
  }

  /** Breaks a promise on purpose. */
  public List<String> plant(Planted planted) throws IOException, InterruptedException {
    requests.plant(planted);
    settle("the planted fault", Deadline.after(SETTLING));
    return HistoryCheck.violations(history());
  }

  public History history() throws IOException, InterruptedException {
    return new History(
        requests.requests(),
        requests.results(),
        FaultRecords.starts(shared),
        requests.scheduled(),
        requests.ticks(),
        FaultRecords.marks(shared),
        Set.of(FaultFiles.ALONE, FaultFiles.TURNS),
        rounds,
        unsettled);
  }

  private void round(FaultPlan.Round round) throws IOException, InterruptedException {
    String name = "round %d, %s".formatted(rounds.size() + 1, round);
    log.accept(name);
    requests.next(!round.fault().steady());
    double from = Host.now();
    TestNode node = cluster.node(round.node());
    double healed;
    try (var scope = new TaskScope("requests")) {
      round.fault().begin(cluster, node);
      scope.fork(
          () -> {
            state(round);
            return true;
          });
      jobs(round, scope);
      Pauses.REAL.pause(round.length());
      cluster.heal();
      healed = Host.now();
      scope.join();
    }
    for (TestNode one : cluster.nodes()) {
      one.startAgent();
    }
    settle(name, Deadline.after(SETTLING));
    double until = Host.now();
    settled.add(new Settled(round.fault(), until - healed));
    log.accept("  settled after %.1f s".formatted(until - healed));
    rounds.add(
        new Round(
            name, from, until, round.fault().steady() ? Optional.of("keep") : Optional.empty()));
  }

  /** One after the other, so that it is known which one was the last. */
  private void state(FaultPlan.Round round) throws InterruptedException {
    Duration between = round.length().dividedBy(round.operations().size());
    for (Operation operation : round.operations()) {
      if (!(operation instanceof Operation.RunJob)) {
        requests.change(operation);
      }
      Pauses.REAL.pause(between);
    }
  }

  private void jobs(FaultPlan.Round round, TaskScope scope) {
    Duration between = round.length().dividedBy(round.operations().size());
    Duration after = Duration.ZERO;
    for (Operation operation : round.operations()) {
      if (operation instanceof Operation.RunJob job) {
        Duration wait = after;
        scope.fork(
            () -> {
              Pauses.REAL.pause(wait);
              requests.run(job);
              return true;
            });
      }
      after = after.plus(between);
    }
  }

  private void settle(String after, Deadline deadline) throws IOException, InterruptedException {
    Optional<String> problem = problem();
    while (problem.isPresent() && !deadline.passed()) {
      Pauses.REAL.pause(Duration.ofMillis(500));
      problem = problem();
    }
    problem.ifPresent(
        reason ->
            unsettled.add(
                "not settled %d s after %s: %s"
                    .formatted(deadline.limit().toSeconds(), after, reason)));
  }

  /** Why the desired state is not reached; what fails is a reason. */
  private Optional<String> problem() throws IOException, InterruptedException {
    try {
      Optional<String> problem = nodes();
      if (problem.isEmpty()) {
        problem = requests.problem();
      }
      if (problem.isEmpty()) {
        problem = service("steady", "keep", cluster.nodes().size());
      }
      if (problem.isEmpty()) {
        problem = service("solo", FaultFiles.ALONE, 1);
      }
      if (problem.isEmpty() && FaultRecords.running(shared, FaultFiles.TURNS) == 0) {
        problem = Optional.of("no run of the schedule that forbids two at a time");
      }
      return problem.isEmpty() ? requests.settle() : problem;
    } catch (AgentException | IllegalStateException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  private Optional<String> nodes() throws InterruptedException {
    for (TestNode node : cluster.nodes()) {
      Json status = node.get("/cluster");
      for (String key : List.of("problem", "unreachable")) {
        Optional<String> text = status.at(key).string();
        if (text.isPresent()) {
          return Optional.of("%s: %s".formatted(node.name(), text.get()));
        }
      }
      for (Json other : status.at("nodes").items()) {
        if (!TestCluster.ready(other)) {
          return Optional.of("%s sees %s".formatted(node.name(), other));
        }
      }
      for (Json server : status.at("servers").items()) {
        if (server.at("problem").string().isPresent()) {
          return Optional.of("%s sees %s".formatted(node.name(), server));
        }
      }
    }
    return Optional.empty();
  }

  /** As the cluster says, and as the containers themselves do. */
  private Optional<String> service(String deployment, String name, int replicas)
      throws IOException, InterruptedException {
    return requests.service(deployment, name, Set.of((long) replicas));
  }
}

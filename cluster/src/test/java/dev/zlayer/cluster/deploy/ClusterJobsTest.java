package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Jobs and schedules from requests to what nodes run, in memory. */
class ClusterJobsTest {
  private static final String REPORT =
      "  report: {rtype: job, image: {name: r}, job: {concurrency: 2, queue: 1, retries: 1}}\n";
  private static final String NIGHTLY =
      "  nightly: {rtype: cron, schedule: '0 * * * *', image: {name: r}}\n";
  private static final String OFTEN =
      "  often: {rtype: cron, schedule: '* * * * *', image: {name: r}}\n";

  private final Simulation cluster = new Simulation();
  private final Map<String, FakeJobs> engines = new TreeMap<>();

  /** Runs until it is told how executions end. */
  private final class FakeJobs implements NodeJobs.Engine {
    final Map<String, String> statuses = new TreeMap<>();
    final Set<String> started = new HashSet<>();
    boolean misfit;

    @Override
    public Optional<Progress> find(String id) {
      return Optional.ofNullable(statuses.get(id))
          .map(
              word ->
                  new Progress(
                      word,
                      Optional.empty(),
                      Optional.empty(),
                      1,
                      Optional.of(Simulation.NOW),
                      word.equals("running") ? Optional.empty() : Optional.of(cluster.now),
                      word.equals("misfit") ? Optional.of("no runtime") : Optional.empty()));
    }

    @Override
    public void start(ClusterExecution execution) {
      assertThat(started.add(execution.id())).as("begun once").isTrue();
      statuses.put(execution.id(), misfit ? "misfit" : "running");
    }

    @Override
    public void cancel(String id) {
      statuses.replace(id, "running", "cancelled");
    }

    @Override
    public Set<String> live() {
      var live = new HashSet<String>();
      statuses.forEach(
          (id, word) -> {
            if (word.equals("running")) {
              live.add(id);
            }
          });
      return live;
    }
  }

  @BeforeEach
  void threeNodes() throws InterruptedException {
    for (String id : List.of("a", "b", "c")) {
      cluster.node(id);
      engines.put(id, new FakeJobs());
      cluster.runJobs(id, engines.get(id));
    }
  }

  private ClusterExecution run(String job) throws InterruptedException {
    return cluster.jobs.trigger("shop", job, request(Optional.empty()));
  }

  private static ClusterExecution.Request request(Optional<String> key) {
    return new ClusterExecution.Request(
        "cli",
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Map.of("A", "b"),
        Optional.empty(),
        0,
        key);
  }

  private ClusterExecution live(ClusterExecution one) throws InterruptedException {
    return cluster.deployments.state().executions().get(one.key());
  }

  private String result(ClusterExecution one) throws InterruptedException {
    return cluster.jobs.result(one).flatMap(ClusterExecution::progress).orElseThrow().status();
  }

  private void end(ClusterExecution one) throws InterruptedException {
    String node = live(one).node().orElseThrow();
    engines.get(node).statuses.put(one.id(), "completed");
  }

  @Test
  void anExecutionRunsOnOneNodeToItsEnd() throws InterruptedException {
    cluster.up("shop", REPORT);
    ClusterExecution first = run("report");
    assertThat(first.name()).isEqualTo("shop/report/1");
    cluster.converge();
    assertThat(live(first).progress().map(Progress::status)).contains("running");
    assertThat(engines.values()).filteredOn(one -> one.started.contains(first.id())).hasSize(1);

    end(first);
    cluster.converge();
    assertThat(live(first)).isNull();
    assertThat(result(first)).isEqualTo("completed");
    assertThat(run("report").number()).isEqualTo(2);
  }

  @Test
  void limitsHoldForAllNodesTogether() throws InterruptedException {
    cluster.up("shop", REPORT);
    ClusterExecution first = run("report");
    ClusterExecution second = run("report");
    ClusterExecution third = run("report");
    cluster.converge();
    assertThat(live(first).node()).isPresent();
    assertThat(live(second).node()).isPresent().isNotEqualTo(live(first).node());
    assertThat(live(third).node()).isEmpty();
    assertThatThrownBy(() -> run("report"))
        .isInstanceOf(AgentException.Busy.class)
        .hasMessageContaining("queue of job 'shop/report' is full");

    end(first);
    cluster.converge();
    assertThat(live(third).node()).isPresent();
  }

  /** One transaction has room for a few of them only. */
  @Test
  void largeExecutionsKeepTheLeaderFromNothing() throws InterruptedException {
    String large = "x".repeat(ClusterJobs.MOST_REQUEST_BYTES - 1000);
    cluster.up("shop", REPORT.replace("concurrency: 2, queue: 1", "concurrency: 40, queue: 40"));
    for (int i = 0; i < 30; i++) {
      var _ =
          cluster.jobs.trigger(
              "shop",
              "report",
              new ClusterExecution.Request(
                  "cli",
                  Optional.empty(),
                  Optional.empty(),
                  Optional.of(List.of(large)),
                  Map.of(),
                  Optional.empty(),
                  0,
                  Optional.empty()));
    }
    cluster.converge();

    assertThat(cluster.leader.problem()).isEmpty();
    assertThat(cluster.state().executions("shop", "report"))
        .hasSize(30)
        .allSatisfy(one -> assertThat(one.node()).isPresent());
  }

  @Test
  void whatIsTooLargeForAllNodesToKeepIsRefusedOrCutShort() throws InterruptedException {
    cluster.up("shop", REPORT);
    var large =
        new ClusterExecution.Request(
            "cli",
            Optional.empty(),
            Optional.empty(),
            Optional.of(List.of("x".repeat(ClusterJobs.MOST_REQUEST_BYTES))),
            Map.of(),
            Optional.empty(),
            0,
            Optional.empty());
    assertThatThrownBy(() -> cluster.jobs.trigger("shop", "report", large))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("a cluster stores at most 65536");
    assertThat(cluster.state().executions()).isEmpty();

    var failed =
        new Progress(
            "failed",
            Optional.empty(),
            Optional.of("x".repeat(2 << 20)),
            1,
            Optional.empty(),
            Optional.empty());
    assertThat(failed.reason().orElseThrow()).hasSizeLessThan(5000).endsWith("...");
  }

  @Test
  void aRequestThatIsSentAgainRunsOnce() throws InterruptedException {
    cluster.up("shop", REPORT);
    var request = request(Optional.of("once"));
    ClusterExecution first = cluster.jobs.trigger("shop", "report", request);
    assertThat(cluster.jobs.trigger("shop", "report", request).id()).isEqualTo(first.id());
    cluster.converge();
    end(first);
    cluster.converge();
    assertThat(cluster.jobs.trigger("shop", "report", request).id()).isEqualTo(first.id());
  }

  @Test
  void anExecutionOfALostNodeIsTriedOnAnotherAsOftenAsItsPolicySays() throws InterruptedException {
    cluster.up("shop", REPORT);
    ClusterExecution one = run("report");
    cluster.converge();
    String first = live(one).node().orElseThrow();
    cluster.leader = cluster.leader(first.equals("a") ? "b" : "a", Duration.ZERO);
    cluster.lose(first);
    cluster.converge();
    String second = live(one).node().orElseThrow();
    assertThat(second).isNotEqualTo(first);

    cluster.revive(first);
    cluster.converge();
    assertThat(engines.get(first).statuses).containsEntry(one.id(), "cancelled");
    assertThat(engines.get(second).statuses).containsEntry(one.id(), "running");

    cluster.leader = cluster.leader(first, Duration.ZERO);
    cluster.lose(second);
    cluster.converge();
    assertThat(result(one)).isEqualTo("lost");
  }

  @Test
  void anExecutionThatANodeCannotRunGoesToAnotherOne() throws InterruptedException {
    cluster.up("shop", REPORT);
    engines.get("a").misfit = true;
    engines.get("c").misfit = true;
    ClusterExecution one = run("report");
    cluster.converge();
    assertThat(live(one).node()).contains("b");
    assertThat(live(one).lost()).isEmpty();

    engines.get("b").misfit = true;
    ClusterExecution other = run("report");
    cluster.converge();
    assertThat(live(other).node()).isEmpty();
    assertThat(cluster.deployments.state().unplaced().get("shop").get("report/2"))
        .contains("3 refused it")
        .contains("no runtime");

    cluster.node("d");
    engines.put("d", new FakeJobs());
    cluster.runJobs("d", engines.get("d"));
    cluster.converge();
    assertThat(live(other).node()).contains("d");
  }

  @Test
  void whatIsCancelledEndsWhereverItIs() throws InterruptedException {
    cluster.up("shop", REPORT);
    ClusterExecution waiting = run("report");
    assertThat(cluster.jobs.cancel(waiting).finished()).isTrue();
    assertThat(result(waiting)).isEqualTo("cancelled");

    ClusterExecution running = run("report");
    cluster.converge();
    assertThat(cluster.jobs.cancel(live(running)).finished()).isFalse();
    cluster.converge();
    assertThat(result(running)).isEqualTo("cancelled");
  }

  @Test
  void aDrainedNodeEndsWhatItHasAndGetsNothingNew() throws InterruptedException {
    cluster.up("shop", REPORT);
    ClusterExecution one = run("report");
    cluster.converge();
    String node = live(one).node().orElseThrow();
    for (String id : List.of("a", "b", "c")) {
      cluster.schedule(id, id.equals(node) ? Status.DRAINING : Status.CORDONED);
    }
    ClusterExecution other = run("report");
    cluster.converge();
    assertThat(live(one).node()).contains(node);
    assertThat(live(other).node()).isEmpty();
    assertThat(cluster.deployments.state().unplaced().get("shop").get("report/2"))
        .contains("cordoned or draining");

    end(one);
    cluster.converge();
    assertThat(cluster.deployments.state().assignments("shop")).doesNotContainKey(node);
  }

  @Test
  void removingADeploymentEndsItsExecutions() throws InterruptedException {
    cluster.up("shop", REPORT);
    ClusterExecution one = run("report");
    cluster.converge();
    cluster.deployments.down("shop", false);
    cluster.converge();
    assertThat(cluster.deployments.state().executions()).isEmpty();
    assertThat(cluster.deployments.state().desired()).isEmpty();
    assertThat(engines.values()).allMatch(engine -> engine.live().isEmpty());
    cluster.up("shop", REPORT);
    assertThat(run("report").number()).as("never given twice").isEqualTo(one.number() + 1);
  }

  @Test
  void aScheduledTimeIsRunOnceWhoeverLeads() throws InterruptedException {
    cluster.up("shop", NIGHTLY);
    cluster.converge();
    assertThat(cluster.deployments.state().executions()).isEmpty();

    cluster.now = Simulation.NOW.plus(Duration.ofMinutes(61));
    cluster.converge();
    List<ClusterExecution> begun = cluster.deployments.state().executions("shop", "nightly");
    assertThat(begun).hasSize(1);
    assertThat(begun.getFirst().request().due()).contains(Simulation.NOW.plus(Duration.ofHours(1)));
    end(begun.getFirst());
    cluster.converge();

    // its clock is behind that of the one before
    cluster.lose("a");
    cluster.leader = cluster.leader("b", Duration.ZERO);
    cluster.now = Simulation.NOW.plus(Duration.ofMinutes(59));
    cluster.converge();
    cluster.now = Simulation.NOW.plus(Duration.ofMinutes(62));
    cluster.converge();
    assertThat(cluster.deployments.state().executions("shop", "nightly")).isEmpty();
    assertThat(cluster.jobs.results()).hasSize(1);
  }

  /** Else nothing would run for two hours after the clock of a leader was right again. */
  @Test
  void aScheduleContinuesAfterTheClockOfALeaderWasAhead() throws InterruptedException {
    cluster.up("shop", NIGHTLY + OFTEN);
    cluster.converge();
    cluster.now = Simulation.NOW.plus(Duration.ofMinutes(135));
    cluster.converge();
    assertThat(lastDue("often")).isAfter(Simulation.NOW.plus(Duration.ofHours(2)));
    for (ClusterExecution one : cluster.deployments.state().executions().values()) {
      end(one);
    }
    cluster.converge();

    cluster.now = Simulation.NOW.plus(Duration.ofMinutes(15));
    cluster.converge();
    assertThat(cluster.deployments.state().executions()).as("nothing at once").isEmpty();
    cluster.now = Simulation.NOW.plus(Duration.ofMinutes(16));
    cluster.converge();
    assertThat(lastDue("often")).isEqualTo(cluster.now);
    assertThat(cluster.deployments.state().executions("shop", "often")).hasSize(1);
  }

  private Instant lastDue(String job) throws InterruptedException {
    return cluster
        .deployments
        .state()
        .schedule("shop", job)
        .flatMap(ClusterSchedule::lastDue)
        .orElse(Simulation.NOW);
  }

  @Test
  void aScheduleIsSwitchedOffAndOn() throws InterruptedException {
    cluster.up("shop", NIGHTLY);
    cluster.converge();
    cluster.jobs.enable("shop", "nightly", false);
    cluster.now = Simulation.NOW.plus(Duration.ofHours(3));
    cluster.converge();
    assertThat(cluster.deployments.state().executions()).isEmpty();

    cluster.jobs.enable("shop", "nightly", true);
    cluster.converge();
    assertThat(cluster.deployments.state().executions()).as("times count from now").isEmpty();
    cluster.now = cluster.now.plus(Duration.ofHours(1));
    cluster.converge();
    Optional<Instant> due =
        cluster.deployments.state().schedule("shop", "nightly").orElseThrow().lastDue();
    assertThat(due).contains(Simulation.NOW.plus(Duration.ofHours(4)));
  }

  @Test
  void whatAClusterDoesNotDoWithJobsIsRefused() {
    assertThatThrownBy(
            () ->
                cluster.up(
                    "shop",
                    "  report: {rtype: job, image: {name: r}, job: {warm: 1}}\n"
                        + "  train: {rtype: job, image: {name: r},"
                        + " resources: {gpu: {distributed: {}}}}\n"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("services.report.job.warm")
        .hasMessageContaining("services.train.resources.gpu.distributed");
  }
}

package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.error.AgentException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A node that cannot begin anything continues with what it has, and reports how that ends. */
class FullDiskTest {
  private static final String SERVICE =
      "  web: {image: {name: w}, scale: {mode: fixed, replicas: 1}}\n";
  private static final String JOB = "  report: {rtype: job, image: {name: r}}\n";

  private final Simulation cluster = new Simulation();
  private final Set<String> full = new HashSet<>();

  @Test
  void aDeploymentThatCannotBeAppliedHoldsUpNoOther() throws InterruptedException {
    cluster.node("a");
    cluster.up("second", SERVICE);
    cluster.converge();
    cluster.engines.put("a", new Simulation.FakeEngine());
    var failing = new Failing(cluster.engines.get("a"));
    cluster.nodes.put(
        "a",
        new NodeShares(
            cluster.store, cluster::state, "a", () -> cluster.leases.get("a"), failing, _ -> {}));
    full.add("first");
    cluster.up("first", SERVICE);

    cluster.converge();

    assertThat(cluster.where("second", "web")).isEqualTo("a:1");
    assertThat(cluster.state().ready("second", "web")).as("it is reported").isEqualTo(1);
    assertThat(cluster.where("first", "web")).isEmpty();
    assertThat(cluster.nodes.get("a").problem()).contains("no space left");
    full.clear();
    cluster.converge();
    assertThat(cluster.where("first", "web")).isEqualTo("a:1");
    assertThat(cluster.nodes.get("a").problem()).isEmpty();
  }

  @Test
  void anExecutionThatCannotBeginHoldsUpNoEnd() throws InterruptedException {
    cluster.node("a");
    var jobs = new FakeJobs();
    cluster.runJobs("a", jobs);
    cluster.up("shop", JOB.replace("r}", "r}, job: {concurrency: 2}"));
    ClusterExecution first = run();
    ClusterExecution second = run();
    full.add(first.id());
    cluster.converge();
    assertThat(jobs.statuses).containsOnlyKeys(second.id());

    jobs.statuses.put(second.id(), "completed");
    cluster.converge();

    assertThat(cluster.jobs.result(second)).isPresent();
    assertThat(cluster.jobs.result(first)).isEmpty();
    assertThat(cluster.runners.get("a").problem()).contains("no space left");
    full.clear();
    cluster.converge();
    jobs.statuses.put(first.id(), "completed");
    cluster.converge();
    assertThat(cluster.jobs.result(first)).isPresent();
  }

  private ClusterExecution run() throws InterruptedException {
    return cluster.jobs.trigger(
        "shop",
        "report",
        new ClusterExecution.Request(
            "cli",
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Map.of(),
            Optional.empty(),
            0,
            Optional.empty()));
  }

  private void write(String what) {
    if (full.contains(what)) {
      throw new AgentException.Configuration("no space left");
    }
  }

  /** Its disk takes no more of what is named. */
  private final class Failing implements NodeShares.Engine {
    private final NodeShares.Engine engine;

    Failing(NodeShares.Engine engine) {
      this.engine = engine;
    }

    @Override
    public Map<String, NodeShares.Applied> applied() {
      return engine.applied();
    }

    @Override
    public Optional<String> apply(String deployment, Assignment assignment, Desired.File file)
        throws InterruptedException {
      write(deployment);
      return engine.apply(deployment, assignment, file);
    }

    @Override
    public void remove(String deployment, boolean volumes) {
      engine.remove(deployment, volumes);
    }
  }

  private final class FakeJobs implements NodeJobs.Engine {
    final Map<String, String> statuses = new TreeMap<>();

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
                      word.equals("running") ? Optional.empty() : Optional.of(cluster.now)));
    }

    @Override
    public void start(ClusterExecution execution) {
      write(execution.id());
      statuses.put(execution.id(), "running");
    }

    @Override
    public void cancel(String id) {}

    @Override
    public Set<String> live() {
      return Set.copyOf(List.of());
    }
  }
}

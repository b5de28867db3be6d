package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Services and jobs that wait for others, on whatever node these are, in memory. */
class DependenciesTest {
  private static final String DB =
      "  db: {image: {name: db}, scale: {mode: manual, replicas: 1}}\n";
  private static final String MIGRATE = "  migrate: {rtype: job, image: {name: m}%s}\n";
  private static final String AFTER =
      "  web: {image: {name: web}, scale: {mode: fixed, replicas: 1},"
          + " depends: [{service: migrate, condition: completed}]}\n";

  private final Simulation cluster = new Simulation();

  /** Of all nodes, by id; they run until the test ends them. */
  private final Map<String, String> statuses = new TreeMap<>();

  private final class FakeJobs implements NodeJobs.Engine {
    private final List<String> own = new ArrayList<>();

    @Override
    public Optional<Progress> find(String id) {
      return own.contains(id)
          ? Optional.ofNullable(statuses.get(id)).map(DependenciesTest.this::progress)
          : Optional.empty();
    }

    @Override
    public void start(ClusterExecution execution) {
      own.add(execution.id());
      statuses.put(execution.id(), "running");
    }

    @Override
    public void cancel(String id) {
      statuses.replace(id, "running", "cancelled");
    }

    @Override
    public Set<String> live() {
      return own.stream()
          .filter(id -> "running".equals(statuses.get(id)))
          .collect(Collectors.toSet());
    }
  }

  private Progress progress(String word) {
    boolean running = word.equals("running");
    return new Progress(
        word,
        word.equals("failed") ? Optional.of(3) : Optional.empty(),
        word.equals("failed") ? Optional.of("exit code 3") : Optional.empty(),
        1,
        Optional.of(cluster.now),
        running ? Optional.empty() : Optional.of(cluster.now));
  }

  @BeforeEach
  void threeNodes() throws InterruptedException {
    for (String id : List.of("a", "b", "c")) {
      cluster.node(id);
      cluster.runJobs(id, new FakeJobs());
    }
  }

  private void ready(boolean ready) {
    cluster.engines.values().forEach(engine -> engine.ready = ready);
  }

  private void pass(int seconds) throws InterruptedException {
    cluster.now = cluster.now.plus(Duration.ofSeconds(seconds));
    cluster.converge();
  }

  /** Executions that have not ended, as {@code migrate/1 running}. */
  private List<String> live() throws InterruptedException {
    return cluster.state().executions().values().stream()
        .map(
            one ->
                "%s/%d %s"
                    .formatted(
                        one.job(),
                        one.number(),
                        one.progress().map(Progress::status).orElse("pending")))
        .toList();
  }

  private void end(String job, String status) throws InterruptedException {
    for (ClusterExecution one : cluster.state().executions().values()) {
      if (one.job().equals(job)) {
        statuses.put(one.id(), status);
      }
    }
    cluster.converge();
  }

  private static String web(String depends) {
    return DB
        + "  web: {image: {name: web}, scale: {mode: fixed, replicas: 1}, depends: [{service: db,"
        + " timeout: 10s, %s}]}\n".formatted(depends);
  }

  private Optional<String> reason() throws InterruptedException {
    return Optional.ofNullable(
        cluster.state().unplaced().getOrDefault("shop", Map.of()).get("web"));
  }

  @Test
  void whoWaitsTooLongFailsAndBeginsWhenItMay() throws InterruptedException {
    ready(false);
    cluster.up("shop", web("condition: healthy"));
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEmpty();
    assertThat(reason()).isEmpty();

    pass(11);
    assertThat(cluster.where("shop", "web")).isEmpty();
    assertThat(reason().orElseThrow()).contains("shop/web", "db", "healthy", "10s");

    ready(true);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isNotEmpty();
    assertThat(reason()).isEmpty();
  }

  @Test
  void whoDoesNotInsistBeginsWithoutIt() throws InterruptedException {
    ready(false);
    cluster.up("shop", web("condition: ready, on_timeout: warn"));
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEmpty();
    pass(11);
    assertThat(cluster.where("shop", "web")).isNotEmpty();
  }

  @Test
  void aReplicaThatRunsIsEnoughForThoseWhoAskForNoMore() throws InterruptedException {
    ready(false);
    cluster.up("shop", web("condition: started"));
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isNotEmpty();
  }

  @Test
  void whatFailedOrWasStoppedIsNotWaitedFor() throws InterruptedException {
    ready(false);
    cluster.up("shop", web("condition: healthy"));
    cluster.deployments.stop("shop", Optional.of("db"));
    cluster.converge();
    assertThat(reason().orElseThrow())
        .contains("it depends on 'db' to be healthy, which failed: it is stopped");
    ready(true);
    cluster.deployments.start("shop", Optional.of("db"));
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isNotEmpty();
  }

  @Test
  void aJobRunsOnceForThoseWhoWaitForIt() throws InterruptedException {
    cluster.up("shop", MIGRATE.formatted("") + AFTER);
    cluster.converge();
    assertThat(live()).containsExactly("migrate/1 running");
    assertThat(cluster.where("shop", "web")).isEmpty();

    end("migrate", "completed");
    assertThat(live()).isEmpty();
    assertThat(cluster.where("shop", "web")).isNotEmpty();

    cluster.lose("a");
    cluster.leader = cluster.leader("b", Duration.ZERO);
    cluster.up("shop", MIGRATE.formatted("") + AFTER.replace("name: web", "name: web2"));
    cluster.converge();
    assertThat(live()).as("it is the same job").isEmpty();
    cluster.up("shop", MIGRATE.formatted(", env: {A: b}") + AFTER);
    cluster.converge();
    assertThat(live()).containsExactly("migrate/2 running");
  }

  @Test
  void aJobThatFailsIsRunAgainWhenSomebodyAsksForIt() throws InterruptedException {
    cluster.up("shop", MIGRATE.formatted("") + AFTER);
    cluster.converge();
    end("migrate", "failed");
    assertThat(cluster.where("shop", "web")).isEmpty();
    assertThat(reason().orElseThrow())
        .contains("it depends on 'migrate' to be completed, which failed: exit code 3");

    cluster.up("shop", MIGRATE.formatted("") + AFTER);
    cluster.converge();
    assertThat(live()).containsExactly("migrate/2 running");
    assertThat(reason()).isEmpty();
    end("migrate", "completed");
    assertThat(cluster.where("shop", "web")).isNotEmpty();
  }

  @Test
  void aJobRunsWhenWhatItDependsOnIsThere() throws InterruptedException {
    ready(false);
    cluster.up("shop", DB + MIGRATE.formatted(", depends: [db]") + AFTER);
    cluster.converge();
    assertThat(live()).isEmpty();
    ready(true);
    cluster.converge();
    assertThat(live()).containsExactly("migrate/1 running");
  }

  private ClusterExecution run(String job) throws InterruptedException {
    return cluster.jobs.trigger(
        "shop",
        job,
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

  private static final String CHAIN =
      "  fetch: {rtype: job, image: {name: j}}\n"
          + "  clean: {rtype: job, image: {name: j}, job: {needs: [fetch]}}\n"
          + "  report: {rtype: job, image: {name: j}, job: {needs: [clean, fetch]}}\n";

  @Test
  void whatAJobNeedsRunsBeforeItOnceEach() throws InterruptedException {
    cluster.up("shop", CHAIN);
    ClusterExecution root = run("report");
    cluster.converge();
    assertThat(live())
        .containsExactlyInAnyOrder("fetch/1 running", "clean/1 pending", "report/1 pending");
    end("fetch", "completed");
    assertThat(live()).containsExactlyInAnyOrder("clean/1 running", "report/1 pending");

    // whoever leads next knows what has ended
    cluster.leader = cluster.leader("a", Duration.ZERO);
    end("clean", "completed");
    assertThat(live()).contains("report/1 running");
    end("report", "completed");
    assertThat(cluster.jobs.result(root).flatMap(ClusterExecution::progress).orElseThrow().status())
        .isEqualTo("completed");
  }

  @Test
  void aJobFailsWithWhatItNeeds() throws InterruptedException {
    cluster.up("shop", CHAIN);
    ClusterExecution root = run("report");
    cluster.converge();
    end("fetch", "failed");
    assertThat(live()).isEmpty();
    Progress end = cluster.jobs.result(root).flatMap(ClusterExecution::progress).orElseThrow();
    assertThat(end.status()).isEqualTo("failed");
    assertThat(end.reason().orElseThrow()).isEqualTo("needs job 'shop/fetch', which failed(3)");
    assertThat(statuses).as("nothing else has run").hasSize(1);
  }
}

package dev.zlayer.engine.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.engine.init.StepReport.Result;
import dev.zlayer.engine.job.Jobs;
import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

class InitRunnerTest {
  private final FakeWorld world = new FakeWorld(InstantSource.system());
  private final FakeRuntime runtime = new FakeRuntime(world);
  private final List<Duration> pauses = new ArrayList<>();
  private final List<StepReport> reports = new ArrayList<>();

  private void run(String steps, String errors, Map<String, String> labels)
      throws InterruptedException {
    run(steps, errors, labels, InitConfig.DEFAULT);
  }

  private void run(String steps, String errors, Map<String, String> labels, InitConfig config)
      throws InterruptedException {
    LifecycleSpec lifecycle =
        Jobs.parse(
                """
                one:
                  rtype: job
                  image: app:1
                  errors: {on_init_failure: {%s}}
                  init:
                    steps:
                %s\
                """
                    .formatted(errors, steps.indent(6)))
            .getFirst()
            .service()
            .lifecycle();
    ImageRef image = ImageRef.parse("app:1");
    world.images().add(image);
    var request =
        new Initializer.Request(
            ContainerId.of("shop", "one", 1),
            ContainerSpec.of(image).withLabels(labels),
            lifecycle.init(),
            lifecycle.errors().onInitFailure());
    new InitRunner(
            runtime,
            new EnvResolver(_ -> Optional.empty(), (_, _, _) -> Optional.empty()),
            config,
            InitRunnerTest::tls,
            DeploymentNames.NONE,
            text -> text.replace("hush", "[secret]"),
            InstantSource.system(),
            pauses::add)
        .run(request, reports::add);
  }

  private static SSLContext tls() {
    try {
      return SSLContext.getDefault();
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  private List<Result> results() {
    return reports.stream()
        .map(StepReport::result)
        .filter(result -> result != Result.RUNNING)
        .toList();
  }

  private long starts() {
    return world.journal().stream().filter(line -> line.startsWith("start")).count();
  }

  private static final String RUN = "- {id: migrate, uses: init.run, with: {command: ./migrate}}\n";

  @Test
  void runsACommandInAContainerLikeTheMainOneAndKeepsItsOutput() throws InterruptedException {
    run(RUN, "", Map.of("fake.exit", "0", "fake.log", "a\nb"));

    assertThat(reports)
        .extracting(StepReport::result)
        .containsExactly(Result.RUNNING, Result.SUCCEEDED);
    assertThat(reports.getLast().log()).contains("a\nb");
    assertThat(world.journal())
        .containsExactly(
            "create shop/one/init/1", "start shop/one/init/1", "remove shop/one/init/1");
  }

  @Test
  void secretsInTheOutputOfAStepAreNotKept() throws InterruptedException {
    run(RUN, "", Map.of("fake.exit", "0", "fake.log", "password hush"));

    assertThat(reports.getLast().log()).contains("password [secret]");
  }

  @Test
  void aStepWhoseFailureDoesNotMatterMayAlsoBeWrong() throws InterruptedException {
    String tolerated = "- {id: host, uses: init.host_run, with: {command: x}, %s}\n";
    for (String word :
        List.of("on_failure: warn", "on_failure: continue", "on_failure: warn, retry: 3")) {
      reports.clear();
      run(tolerated.formatted(word) + RUN, "", Map.of("fake.exit", "0"));
      Result shown = word.contains("warn") ? Result.FAILED : Result.IGNORED;
      assertThat(results()).as(word).containsExactly(shown, Result.SUCCEEDED);
    }
  }

  @Test
  void aFailingCommandFailsTheStepByName() {
    assertThatThrownBy(() -> run(RUN, "", Map.of("fake.exit", "3", "fake.log", "no database")))
        .isInstanceOf(AgentException.InitActionFailed.class)
        .hasMessageContaining("'shop/one/1'")
        .hasMessageContaining("step 'migrate': the command ended with exit code 3");
    assertThat(reports.getLast().log()).contains("no database");
    assertThat(runtime.list()).isEmpty();
    assertThat(pauses).isEmpty();
  }

  @Test
  void aStepIsTriedAgainWithGrowingPauses() {
    assertThatThrownBy(
            () ->
                run(
                    RUN.replace("migrate, uses", "migrate, retry: 3, uses"),
                    "",
                    Map.of("fake.exit", "3")))
        .isInstanceOf(AgentException.InitActionFailed.class);

    assertThat(starts()).isEqualTo(4);
    assertThat(pauses)
        .containsExactly(Duration.ofMillis(500), Duration.ofSeconds(1), Duration.ofSeconds(2));
  }

  @Test
  void aFailureMayNotMatter() throws InterruptedException {
    run(
        """
        - {id: first, on_failure: warn, uses: init.run, with: {command: a}}
        - {id: second, on_failure: continue, uses: init.run, with: {command: b}}
        """,
        "",
        Map.of("fake.exit", "3"));

    assertThat(results()).containsExactly(Result.FAILED, Result.IGNORED);
    assertThat(reports.getLast().error()).contains("the command ended with exit code 3");
  }

  @Test
  void restartMakesThreeMorePassesFromTheFirstStep() {
    String steps =
        """
        - {id: first, on_failure: continue, uses: init.run, with: {command: a}}
        - {id: second, uses: init.run, with: {command: b}}
        """;
    assertThatThrownBy(() -> run(steps, "action: restart", Map.of("fake.exit", "3")))
        .isInstanceOf(AgentException.InitActionFailed.class);

    assertThat(starts()).isEqualTo(8);
    assertThat(pauses).containsExactly(BETWEEN, BETWEEN, BETWEEN);
    assertThat(reports.getLast().pass()).isEqualTo(4);
  }

  private static final Duration BETWEEN = Duration.ofMillis(100);

  @Test
  void backoffMakesPassesWithTheConfiguredPauses() {
    assertThatThrownBy(() -> run(RUN, "action: backoff, retries: 4", Map.of("fake.exit", "3")))
        .isInstanceOf(AgentException.InitActionFailed.class);
    assertThat(pauses).extracting(Duration::toSeconds).containsExactly(1L, 2L, 4L, 8L);

    pauses.clear();
    String custom = "action: backoff, retries: 3, backoff: {initial: 5s, max: 7s, factor: 3}";
    assertThatThrownBy(() -> run(RUN, custom, Map.of("fake.exit", "3")))
        .isInstanceOf(AgentException.InitActionFailed.class);
    assertThat(pauses).extracting(Duration::toSeconds).containsExactly(5L, 7L, 7L);
  }

  @Test
  void aStepThatTakesTooLongIsEndedAndLeavesNothing() {
    assertThatThrownBy(
            () -> run(RUN.replace("migrate, uses", "migrate, timeout: 50ms, uses"), "", Map.of()))
        .isInstanceOf(AgentException.Timeout.class)
        .hasMessageContaining("init step 'migrate' of 'shop/one/1'");

    assertThat(results()).containsExactly(Result.TIMED_OUT);
    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void anInterruptLeavesNothing() throws InterruptedException {
    var running = new CountDownLatch(1);
    world.onExec((_, _) -> new FakeWorld.ExecResult(0, "", ""));
    try (var scope = new TaskScope("init")) {
      scope.fork(
          () -> {
            running.countDown();
            run(RUN, "", Map.of());
            return true;
          });
      running.await();
      org.awaitility.Awaitility.await().until(() -> starts() == 1);
    }

    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void whatALeftOverHelperOfAnEarlierProcessDidDoesNotCount() throws InterruptedException {
    ImageRef image = ImageRef.parse("app:1");
    world.images().add(image);
    runtime
        .create(Initializer.helper(ContainerId.of("shop", "one", 1), 0), ContainerSpec.of(image))
        .start();

    run(RUN, "", Map.of("fake.exit", "0"));

    assertThat(runtime.list()).isEmpty();
  }

  private static final String HOST =
      "- {id: prepare, timeout: 300ms, retry: 2, uses: init.host_run, with: {command: '%s'}}\n";

  @Test
  void commandsOnTheMachineAreOffUnlessAllowed() {
    assertThatThrownBy(
            () -> run(HOST.formatted("true"), "action: restart", Map.of(), InitConfig.DEFAULT))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("init.host_run is off");
    assertThat(reports).as("tried once").hasSize(2);
  }

  @Test
  void commandsOnTheMachineRunAndAreKilledInTime() throws InterruptedException {
    var allowed = new InitConfig(true);
    run(HOST.formatted("echo ready"), "", Map.of(), allowed);
    assertThat(reports.getLast().log()).contains("ready\n");

    String marker = "4" + System.nanoTime();
    assertThatThrownBy(
            () ->
                run(
                    HOST.replace("retry: 2", "retry: 0").formatted("sleep " + marker),
                    "",
                    Map.of(),
                    allowed))
        .isInstanceOf(AgentException.Timeout.class);
    org.awaitility.Awaitility.await()
        .until(
            () ->
                ProcessHandle.allProcesses()
                    .noneMatch(
                        process -> process.info().commandLine().orElse("").contains(marker)));
  }

  @Test
  void whatIsPulledMustGoWhereTheMainContainerSeesIt() {
    assertThatThrownBy(
            () ->
                run(
                    "- {id: get, uses: init.s3_pull, with: {bucket: abc, key: k, destination: /d}}",
                    "",
                    Map.of()))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("destination '/d' is in no named volume");
  }
}

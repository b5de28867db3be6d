package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.init.InitConfig;
import dev.zlayer.engine.init.InitRunner;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.Random;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs with real init steps. */
class JobInitTest {
  @TempDir Path artifacts;
  private final FakeWorld world = new FakeWorld(InstantSource.system());
  private final MemoryStateStore store = new MemoryStateStore();

  private Execution run(String service) throws Exception {
    var runtime = new FakeRuntime(world);
    var resolver = new EnvResolver(_ -> Optional.empty(), (_, _, _) -> Optional.empty());
    SSLContext tls = SSLContext.getDefault();
    var init =
        new InitRunner(
            runtime,
            resolver,
            InitConfig.DEFAULT,
            () -> tls,
            DeploymentNames.NONE,
            text -> text.replace("hush", "[secret]"),
            InstantSource.system(),
            _ -> {});
    var parts =
        new JobParts(
            store,
            runtime,
            Jobs::container,
            init,
            artifacts,
            TimeSource.of(InstantSource.system()),
            _ -> {},
            new Random(),
            new Supervisor());
    try (var executor = JobExecutor.open(parts, JobConfig.DEFAULT, Jobs.parse(service))) {
      ExecutionId id = executor.trigger(TriggerRequest.of(Jobs.key("one"), new Trigger.Cli()));
      return executor.await(id, Deadline.after(Duration.ofSeconds(20)));
    }
  }

  @Test
  void stepsRunBeforeTheMainProcessAndAreRecorded() throws Exception {
    try (var database = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Execution done =
          run(
              """
              one:
                rtype: job
                image: app:1
                labels: {fake.exit: "0", fake.log: hello}
                init:
                  steps:
                    - {id: database, uses: init.wait_tcp, with: {host: 127.0.0.1, port: %d}}
                    - {id: migrate, uses: init.run, with: {command: ./migrate}}
              """
                  .formatted(database.getLocalPort()));

      assertThat(done.status().text()).isEqualTo("completed(0)");
      assertThat(done.attempt().steps())
          .extracting(StepReport::step)
          .containsExactly("database", "migrate");
      assertThat(done.attempt().steps())
          .extracting(StepReport::result)
          .containsOnly(StepReport.Result.SUCCEEDED);
      assertThat(done.attempt().steps().getLast().log()).contains("hello");
      assertThat(store.events(0, Optional.of(done.id().text()), 100).events())
          .filteredOn(event -> event.event().kind().equals("job.step"))
          .as("each step when it begins and when it ends")
          .hasSize(4);
      assertThat(world.journal().get(1)).startsWith("start shop/one/init/2@");
    }
  }

  @Test
  void thePolicyOfTheFileHoldsForJobs() throws Exception {
    Execution failed =
        run(
            """
            one:
              rtype: job
              image: app:1
              labels: {fake.exit: "3"}
              errors: {on_init_failure: {action: restart}}
              init: {steps: [{id: migrate, uses: init.run, with: {command: ./migrate}}]}
            """);

    assertThat(failed.status()).isInstanceOf(ExecutionStatus.Failed.class);
    assertThat(((ExecutionStatus.Failed) failed.status()).reason())
        .startsWith("init step 1 failed: ")
        .contains("step 'migrate': the command ended with exit code 3");
    assertThat(failed.attempt().steps()).extracting(StepReport::pass).containsExactly(1, 2, 3, 4);
    assertThat(world.journal()).noneMatch(line -> line.startsWith("start shop/one/job/"));
  }
}

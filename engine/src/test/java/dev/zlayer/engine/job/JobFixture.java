package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** An executor over fakes, with a clock that a test moves. */
abstract class JobFixture {
  static final String ONE = "one: {rtype: job, image: app:1}";

  @TempDir Path artifacts;
  final FakeClock clock = new FakeClock();
  final FakeWorld world = new FakeWorld(clock);
  final MemoryStateStore store = new MemoryStateStore();
  Initializer initializer = (_, _) -> {};
  ContainerRuntime runtime = new FakeRuntime(world);
  final Supervisor supervisor = new Supervisor();
  JobExecutor executor;

  @AfterEach
  void close() {
    if (executor != null) {
      executor.close();
    }
  }

  final JobExecutor open(String services) {
    return open(services, JobConfig.DEFAULT);
  }

  final JobExecutor open(String services, JobConfig config) {
    close();
    var parts =
        new JobParts(
            store,
            runtime,
            Jobs::container,
            initializer,
            artifacts,
            clock,
            _ -> {},
            new Random(),
            supervisor);
    executor = JobExecutor.open(parts, config, Jobs.parse(services));
    clock.onAdvance(executor::wake);
    return executor;
  }

  final ExecutionId trigger(String job) {
    return executor.trigger(TriggerRequest.of(Jobs.key(job), new Trigger.Cli()));
  }

  final ExecutionId trigger(String job, Map<String, String> behaviour) {
    return executor.trigger(
        TriggerRequest.of(Jobs.key(job), new Trigger.Cli()).with(Jobs.behaving(behaviour)));
  }

  final Execution ended(ExecutionId id) throws InterruptedException {
    return executor.await(id, Deadline.after(Duration.ofSeconds(60)));
  }

  final void reaches(ExecutionId id, Class<? extends ExecutionStatus> status) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(2))
        .untilAsserted(() -> assertThat(executor.execution(id).status()).isInstanceOf(status));
  }

  /** That it runs is recorded before its process starts. */
  final void runs(ExecutionId id) {
    reaches(id, ExecutionStatus.Running.class);
    Awaitility.await()
        .until(
            () ->
                runtime
                    .find(executor.execution(id).container(1))
                    .map(container -> container.status() instanceof ContainerStatus.Running)
                    .orElse(false));
  }

  final List<String> output(ExecutionId id, int attempt) throws InterruptedException {
    var lines = new ArrayList<String>();
    try (var reader = executor.output(id, attempt, LogQuery.ALL)) {
      for (Optional<LogRecord> l = reader.next(); l.isPresent(); l = reader.next()) {
        lines.add(l.get().text());
      }
    }
    return lines;
  }
}

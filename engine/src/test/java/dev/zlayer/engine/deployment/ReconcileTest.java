package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.engine.service.ServiceState;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that meet each other, and what must not be done twice. */
class ReconcileTest {
  private static final String DB = "db: {image: db:1}\n";
  private static final String WEB =
      "web: {image: web:1, stop_grace_period: 10s, labels: {fake.ignore-term: 'true'}}\n";

  @TempDir Path artifacts;
  private EngineFixture fixture;

  @BeforeEach
  void open() {
    fixture = new EngineFixture(artifacts);
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  private void stable() {
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
  }

  private void assertWebRuns() {
    assertThat(fixture.service("web").state()).isEqualTo(ServiceState.RUNNING);
    assertThat(fixture.containers("web"))
        .hasSize(1)
        .allMatch(
            id ->
                fixture.runtime.find(id).orElseThrow().status() instanceof ContainerStatus.Running);
  }

  /** Up to the time at which the grace period ends and the removal with it. */
  @ParameterizedTest
  @ValueSource(ints = {0, 5_000, 9_999, 10_000, 10_001, 60_000})
  void aServiceThatIsAddedAgainDuringItsRemovalRuns(int afterMillis) {
    fixture.up(DB + WEB);
    stable();
    fixture.up(DB);
    fixture.clock.advance(Duration.ofMillis(afterMillis));

    fixture.up(DB + WEB);

    stable();
    assertWebRuns();
    assertThat(fixture.service("web").revision()).isEqualTo(3);
  }

  @Test
  void aRollbackDuringARemovalBringsTheServiceBack() {
    fixture.up(DB + WEB);
    stable();
    fixture.up(DB);
    fixture.await(() -> fixture.events().stream().anyMatch(line -> line.startsWith("deployment.")));

    fixture.deployments.rollback(EngineFixture.NAME, Optional.empty());

    stable();
    assertWebRuns();
  }

  @Test
  void servicesWhoseInitStepsWaitDoNotStarveTheServiceTheyWaitFor() {
    int waiting = DeploymentConfig.DEFAULT.starts() + 1;
    fixture.initializer =
        (request, _) -> {
          while (fixture.containers("zz").isEmpty()) {
            Thread.sleep(Duration.ofMillis(2));
          }
        };
    String waiters =
        IntStream.range(0, waiting)
            .mapToObj(
                i ->
                    """
                    w%d:
                      image: w:1
                      init: {steps: [{id: db, uses: init.wait_tcp, with: {host: zz, port: 80}}]}
                    """
                        .formatted(i))
            .collect(Collectors.joining());

    fixture.up(waiters);
    fixture.await(
        () ->
            fixture.events().stream().filter(line -> line.startsWith("replica.starting")).count()
                == waiting);
    fixture.up(waiters + "zz: {image: zz:1}\n");

    stable();
  }

  @Test
  void aFailedMigrationIsNotRunAgainWhenItsRecordIsDropped() {
    String web = "web: {image: web:1, depends: [{service: migrate, condition: completed}]}\n";
    String job =
        """
        migrate:
          rtype: job
          image: m:1
          labels: {fake.exit: '9', fake.log: oops}
          job: {retention: {age: 1m, failed_age: 1m}}
        """;
    fixture.up(web + job);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.FAILED);

    for (int hour = 0; hour < 48; hour++) {
      fixture.clock.advance(Duration.ofHours(1));
      fixture.deployments.wake();
    }
    fixture.await(() -> fixture.jobs.list().isEmpty());
    fixture.stop();
    fixture.open();
    fixture.clock.advance(Duration.ofHours(1));
    fixture.await(() -> fixture.settle().outcome() == WaitResult.Outcome.FAILED);

    assertThat(fixture.world.journal().stream().filter(line -> line.startsWith("start ")))
        .as("runs")
        .hasSize(1);
    DeploymentStatus.JobStatus status =
        fixture.deployments.status(EngineFixture.NAME).jobs().getFirst();
    assertThat(status.lastError().orElseThrow().exitCode()).hasValue(9);
    assertThat(status.lastError().orElseThrow().lastLines()).containsExactly("oops");

    fixture.up(web + job);
    fixture.await(
        () ->
            fixture.world.journal().stream().filter(line -> line.startsWith("start ")).count()
                == 2);
  }
}

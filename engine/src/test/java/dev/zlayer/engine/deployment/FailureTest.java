package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.engine.job.Mortal;
import dev.zlayer.engine.service.ReplicaState;
import dev.zlayer.engine.service.ReplicaStatus;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.fake.FakeWorld.ExecResult;
import dev.zlayer.testkit.fake.FaultyRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens when replicas fail. */
class FailureTest {
  @TempDir Path artifacts;
  private Shop shop;

  @BeforeEach
  void open() {
    shop = new Shop(artifacts);
  }

  @AfterEach
  void close() {
    shop.close();
  }

  private ContainerId killOne() throws InterruptedException {
    ContainerId victim = shop.containers("web").getFirst();
    shop.runtime.find(victim).orElseThrow().kill(Signal.KILL);
    return victim;
  }

  @Test
  void replacesAReplicaWhoseProcessWasKilled() throws InterruptedException {
    shop.up("web: {image: app:1, scale: {mode: fixed, replicas: 2}}");
    shop.settle();
    ContainerId victim = killOne();

    shop.await(() -> !shop.containers("web").contains(victim));
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);

    assertThat(shop.containers("web")).hasSize(2);
    ReplicaStatus fresh =
        shop.service("web").replicas().stream()
            .filter(replica -> replica.id().replica() == victim.replica())
            .findFirst()
            .orElseThrow();
    assertThat(fresh.restarts()).isEqualTo(1);
    assertThat(fresh.lastError().orElseThrow().exitCode()).hasValue(137);
  }

  @Test
  void showsACrashLoopWithCauseCodeAndLastLines() {
    shop.up("web: {image: app:1, labels: {fake.exit: '3', fake.log: boom}}");

    Settled settled = shop.settle();

    assertThat(settled.outcome()).isEqualTo(Settled.Outcome.FAILED);
    assertThat(shop.service("web").state()).isEqualTo(ServiceState.CRASH_LOOP);
    assertThat(settled.reason().orElseThrow().kind()).isEqualTo("UnexpectedExit");
    assertThat(settled.reason().orElseThrow().exitCode()).hasValue(3);
    assertThat(settled.reason().orElseThrow().lastLines()).containsExactly("boom");
    assertThat(shop.events()).contains("service.crash_loop shop/web");
  }

  @Test
  void theOutputOfEndedReplicasIsKeptUntilTheServiceIsRemoved() {
    shop.initializer =
        (_, observer) ->
            observer.report(
                StepReport.begun("check", 1, 1, shop.clock.instant())
                    .ended(
                        StepReport.Result.IGNORED,
                        shop.clock.instant(),
                        Optional.of("exit code 1"),
                        Optional.of("no table")));
    shop.up(
        """
        web:
          image: app:1
          labels: {fake.exit: '3', fake.log: boom}
          init: {steps: [{id: check, uses: init.wait_tcp, with: {host: db, port: 80}}]}
        """);
    ServiceKey web = new ServiceKey(Shop.NAME, "web");
    shop.await(() -> shop.deployments.ended(web).size() == 5);

    assertThat(shop.deployments.ended(web))
        .anyMatch(
            one ->
                one.status().equals("exit code 3")
                    && one.lines().equals(List.of("boom"))
                    && one.replica() == 1)
        .anyMatch(
            one ->
                one.status().equals("init step 'check': exit code 1")
                    && one.lines().equals(List.of("no table")));
    shop.deployments.down(Shop.NAME, false);
    shop.await(() -> shop.look().outcome() == Settled.Outcome.REMOVED);
    assertThat(shop.store.list("service.ended")).isEmpty();
  }

  @Test
  void replacesAnUnhealthyReplica() {
    shop.world.onExec((_, _) -> new ExecResult(0, "fine", ""));
    shop.up(
        """
        web:
          image: web:1
          scale: {mode: fixed, replicas: 2}
          health: {check: {type: command, command: ready}, interval: 1s, retries: 2}
        """);
    shop.settle();
    ContainerId sick = shop.containers("web").getFirst();
    shop.world.onExec(
        (id, _) -> new ExecResult(id.equals(sick) ? 1 : 0, "says " + id.generation(), ""));

    shop.await(() -> !shop.containers("web").contains(sick));
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(shop.containers("web")).hasSize(2);
    assertThat(shop.events()).contains("replica.unhealthy " + sick);
    assertThat(shop.service("web").lastError().orElseThrow().message())
        .contains("says " + sick.generation());
  }

  @Test
  void aClockThatIsSetBackDelaysNoCheck() {
    shop.world.onExec((_, _) -> new ExecResult(0, "fine", ""));
    shop.up(
        """
        web:
          image: web:1
          health: {check: {type: command, command: ready}, interval: 1s, retries: 2}
        """);
    shop.settle();
    ContainerId sick = shop.containers("web").getFirst();
    shop.clock.set(Duration.ofHours(-1));
    Instant begin = shop.clock.instant();
    shop.world.onExec((id, _) -> new ExecResult(id.equals(sick) ? 1 : 0, "", ""));

    shop.await(() -> !shop.containers("web").contains(sick));
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(Duration.between(begin, shop.clock.instant())).isLessThan(Duration.ofMinutes(30));
  }

  @Test
  void aRuntimeThatFailsForAWhileLeavesNoReplicaStarting() {
    var faulty = new FaultyRuntime(shop.runtime);
    shop.stop();
    shop.open(shop.store, faulty);
    shop.up("web: {image: app:1}");
    faulty.fail(() -> new IllegalStateException("injected"));
    shop.up("web: {image: app:2}");
    shop.await(() -> faulty.thrown() > 3);
    faulty.recover();

    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(shop.containers("web")).hasSize(1);
    assertThat(shop.supervisor.owners()).allMatch(Supervisor.Status::working);
  }

  @Test
  void isolatesAReplicaForInspection() throws InterruptedException {
    shop.up(
        """
        web:
          image: app:1
          scale: {mode: fixed, replicas: 2}
          errors: {on_panic: {action: isolate}}
        """);
    shop.settle();
    ContainerId victim = killOne();

    shop.await(
        () ->
            shop.service("web").replicas().stream()
                .anyMatch(replica -> replica.state() == ReplicaState.ISOLATED));
    assertThat(shop.containers("web")).contains(victim).hasSize(2);
    assertThat(shop.service("web").state()).isEqualTo(ServiceState.DEGRADED);
    shop.deployments.start(new ServiceKey(Shop.NAME, "web"));
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(shop.containers("web")).doesNotContain(victim).hasSize(2);
  }

  @Test
  void aPanicMayStopTheWholeService() throws InterruptedException {
    shop.up(
        """
        web:
          image: app:1
          scale: {mode: fixed, replicas: 2}
          errors: {on_panic: {action: shutdown}}
        """);
    shop.settle();
    killOne();

    shop.await(() -> shop.containers("web").isEmpty());
    assertThat(shop.service("web").state()).isEqualTo(ServiceState.FAILED);
    assertThat(shop.service("web").lastError().orElseThrow().exitCode()).hasValue(137);
  }

  @Test
  void givesUpAfterTheRestartsThatThePolicyAllows() {
    shop.up(
        """
        web:
          image: app:1
          labels: {fake.exit: '4'}
          restart_policy: {kind: on_failure, max_attempts: 1, delay: 1s}
        """);
    shop.await(() -> shop.service("web").state() == ServiceState.FAILED);

    assertThat(shop.world.journal().stream().filter(line -> line.startsWith("start "))).hasSize(2);
    assertThat(shop.containers("web")).as("kept to be looked at").hasSize(1);
  }

  @Test
  void aSignalToTheSchedulerIsShownWordByWordAndNotRepeated() {
    shop.world
        .images()
        .failPull(
            ImageRef.parse("win:1"),
            () -> new AgentException.RouteToPeer("web", "windows", "start a windows node"));
    shop.up("web: {image: win:1}");

    Settled settled = shop.settle();

    assertThat(settled.reason().orElseThrow().kind()).isEqualTo("RouteToPeer");
    assertThat(settled.reason().orElseThrow().message()).contains("start a windows node");
    int pulls = shop.world.images().pulls().size();
    shop.clock.advance(Duration.ofMinutes(5));
    shop.await(() -> shop.service("web").state() == ServiceState.FAILED);
    assertThat(shop.world.images().pulls()).hasSize(pulls);
  }

  @Test
  void whatIsOutsideIsTriedAgainUntilItWorks() {
    ImageRef image = ImageRef.parse("late:1");
    shop.world
        .images()
        .failPull(image, () -> new AgentException.Network("the registry is away", null));
    shop.up("web: {image: late:1}");
    shop.await(() -> shop.world.images().pulls().size() >= 3);
    shop.world.images().add(image);

    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
  }

  @Test
  void aStoreThatFailsNowAndThenDelaysButLosesNothing() {
    long seed = Long.getLong("zlayer.seed", new Random().nextLong());
    System.out.println("seed " + seed + " (repeat with -Dzlayer.seed=" + seed + ")");
    shop.stop();
    Mortal agent = Mortal.living(new Random(seed));
    shop.open(agent.over(shop.store), shop.runtime);
    agent.refuse(0.3);

    insist(() -> shop.up("web: {image: web:1, scale: {mode: manual, replicas: 2}}"));
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    insist(() -> shop.deployments.scale(new ServiceKey(Shop.NAME, "web"), 3));
    insist(() -> shop.up("web: {image: web:2, scale: {mode: manual, replicas: 2}}"));
    shop.await(() -> shop.service("web").ready() == 3 && shop.containers("web").size() == 3);
    insist(() -> shop.deployments.down(Shop.NAME, false));
    shop.await(() -> shop.look().outcome() == Settled.Outcome.REMOVED);

    assertThat(shop.runtime.list()).isEmpty();
    assertThat(shop.world.journal().stream().filter(line -> line.startsWith("start ")))
        .doesNotHaveDuplicates();
  }

  /** What is refused is not done, and can be asked for again. */
  private void insist(Runnable request) {
    shop.await(
        () -> {
          try {
            request.run();
            return true;
          } catch (AgentException.Configuration e) {
            assertThat(e).hasMessageContaining("says the test");
            return false;
          }
        });
  }
}

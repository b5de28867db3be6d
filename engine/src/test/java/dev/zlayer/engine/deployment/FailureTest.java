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
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.fake.FakeWorld.ExecResult;
import dev.zlayer.testkit.fake.FaultyRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
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
  private EngineFixture fixture;

  @BeforeEach
  void open() {
    fixture = new EngineFixture(artifacts);
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  private ContainerId killOne() throws InterruptedException {
    ContainerId victim = fixture.containers("web").getFirst();
    fixture.runtime.find(victim).orElseThrow().kill(Signal.KILL);
    return victim;
  }

  @Test
  void replacesAReplicaWhoseProcessWasKilled() throws InterruptedException {
    fixture.up("web: {image: app:1, scale: {mode: fixed, replicas: 2}}");
    fixture.settle();
    ContainerId victim = killOne();

    fixture.await(() -> !fixture.containers("web").contains(victim));
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);

    assertThat(fixture.containers("web")).hasSize(2);
    ReplicaStatus fresh =
        fixture.service("web").replicas().stream()
            .filter(replica -> replica.id().replica() == victim.replica())
            .findFirst()
            .orElseThrow();
    assertThat(fresh.restarts()).isEqualTo(1);
    assertThat(fresh.lastError().orElseThrow().exitCode()).hasValue(137);
  }

  /** Whatever is wrong with the record: after three deaths its owner goes on without it. */
  @Test
  void aRecordThatItsOwnerDiesOfIsPutAsideAndReported() throws InterruptedException {
    fixture.up("web: {image: app:1}\nother: {image: app:1}");
    fixture.settle();
    String key = EngineFixture.NAME + "/web";
    fixture.close();
    fixture.open(dyingOf(key), fixture.runtime);
    ContainerId victim = killOne();

    fixture.await(() -> fixture.store.find(Quarantine.FATAL, "service/" + key).isPresent());
    fixture.await(() -> !fixture.containers("web").contains(victim));
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    fixture.await(() -> fixture.service("other").state() == ServiceState.RUNNING);
    assertThat(fixture.store.events(0, 500).events())
        .extracting(numbered -> numbered.event().kind() + " " + numbered.event().subject())
        .contains("record.quarantined service/" + key);
    assertThat(fixture.supervisor.failure()).isEmpty();
  }

  /** Fails every write of that record until it was put aside. */
  private StateStore dyingOf(String key) {
    return (StateStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {StateStore.class},
            (_, method, arguments) -> {
              if (method.getName().equals("commit")
                  && ((Change) arguments[0])
                      .writes().stream()
                          .anyMatch(
                              write ->
                                  write instanceof Change.Put
                                      && write.kind().equals("service")
                                      && write.key().equals(key))
                  && fixture.store.find(Quarantine.FATAL, "service/" + key).isEmpty()) {
                throw new StackOverflowError("injected");
              }
              try {
                return method.invoke(fixture.store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void showsACrashLoopWithCauseCodeAndLastLines() {
    fixture.up("web: {image: app:1, labels: {fake.exit: '3', fake.log: boom}}");

    WaitResult settled = fixture.settle();

    assertThat(settled.outcome()).isEqualTo(WaitResult.Outcome.FAILED);
    assertThat(fixture.service("web").state()).isEqualTo(ServiceState.CRASH_LOOP);
    assertThat(settled.reason().orElseThrow().kind()).isEqualTo("UnexpectedExit");
    assertThat(settled.reason().orElseThrow().exitCode()).hasValue(3);
    assertThat(settled.reason().orElseThrow().lastLines()).containsExactly("boom");
    assertThat(fixture.events()).contains("service.crash_loop shop/web");
  }

  @Test
  void theOutputOfEndedReplicasIsKeptUntilTheServiceIsRemoved() {
    fixture.initializer =
        (_, observer) ->
            observer.report(
                StepReport.begun("check", 1, 1, fixture.clock.instant())
                    .ended(
                        StepReport.Result.IGNORED,
                        fixture.clock.instant(),
                        Optional.of("exit code 1"),
                        Optional.of("no table")));
    fixture.up(
        """
        web:
          image: app:1
          labels: {fake.exit: '3', fake.log: boom}
          init: {steps: [{id: check, uses: init.wait_tcp, with: {host: db, port: 80}}]}
        """);
    ServiceKey web = new ServiceKey(EngineFixture.NAME, "web");
    fixture.await(() -> fixture.deployments.ended(web).size() == 5);

    assertThat(fixture.deployments.ended(web))
        .anyMatch(
            one ->
                one.status().equals("exit code 3")
                    && one.lines().equals(List.of("boom"))
                    && one.replica() == 1)
        .anyMatch(
            one ->
                one.status().equals("init step 'check': exit code 1")
                    && one.lines().equals(List.of("no table")));
    fixture.deployments.down(EngineFixture.NAME, false);
    fixture.await(() -> fixture.look().outcome() == WaitResult.Outcome.REMOVED);
    assertThat(fixture.store.list("service.ended")).isEmpty();
  }

  @Test
  void replacesAnUnhealthyReplica() {
    fixture.world.onExec((_, _) -> new ExecResult(0, "fine", ""));
    fixture.up(
        """
        web:
          image: web:1
          scale: {mode: fixed, replicas: 2}
          health: {check: {type: command, command: ready}, interval: 1s, retries: 2}
        """);
    fixture.settle();
    ContainerId sick = fixture.containers("web").getFirst();
    fixture.world.onExec(
        (id, _) -> new ExecResult(id.equals(sick) ? 1 : 0, "says " + id.generation(), ""));

    fixture.await(() -> !fixture.containers("web").contains(sick));
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).hasSize(2);
    assertThat(fixture.events()).contains("replica.unhealthy " + sick.path());
    assertThat(fixture.service("web").lastError().orElseThrow().message())
        .contains("says " + sick.generation());
  }

  @Test
  void aClockThatIsSetBackDelaysNoCheck() {
    fixture.world.onExec((_, _) -> new ExecResult(0, "fine", ""));
    fixture.up(
        """
        web:
          image: web:1
          health: {check: {type: command, command: ready}, interval: 1s, retries: 2}
        """);
    fixture.settle();
    ContainerId sick = fixture.containers("web").getFirst();
    fixture.clock.set(Duration.ofHours(-1));
    Instant begin = fixture.clock.instant();
    fixture.world.onExec((id, _) -> new ExecResult(id.equals(sick) ? 1 : 0, "", ""));

    fixture.await(() -> !fixture.containers("web").contains(sick));
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(Duration.between(begin, fixture.clock.instant())).isLessThan(Duration.ofMinutes(30));
  }

  @Test
  void aClockThatIsSetBackDelaysNoRestart() throws InterruptedException {
    fixture.up("web: {image: web:1}");
    fixture.settle();
    ContainerId first = killOne();
    fixture.clock.set(Duration.ofHours(-1));
    Instant begin = fixture.clock.instant();

    fixture.await(
        () ->
            fixture.service("web").state() == ServiceState.RUNNING
                && !fixture.containers("web").contains(first));
    ContainerId second = killOne();
    fixture.await(
        () ->
            fixture.service("web").state() == ServiceState.RUNNING
                && !fixture.containers("web").contains(second));
    assertThat(fixture.containers("web")).doesNotContain(first);
    assertThat(Duration.between(begin, fixture.clock.instant())).isLessThan(Duration.ofMinutes(30));
  }

  @Test
  void aRuntimeThatFailsForAWhileLeavesNoReplicaStarting() {
    var faulty = new FaultyRuntime(fixture.runtime);
    fixture.stop();
    fixture.open(fixture.store, faulty);
    fixture.up("web: {image: app:1}");
    faulty.fail(() -> new IllegalStateException("injected"));
    fixture.up("web: {image: app:2}");
    fixture.await(() -> faulty.thrown() > 3);
    faulty.recover();

    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).hasSize(1);
    assertThat(fixture.supervisor.owners()).allMatch(Supervisor.Status::working);
  }

  @Test
  void isolatesAReplicaForInspection() throws InterruptedException {
    fixture.up(
        """
        web:
          image: app:1
          scale: {mode: fixed, replicas: 2}
          errors: {on_panic: {action: isolate}}
        """);
    fixture.settle();
    ContainerId victim = killOne();

    fixture.await(
        () ->
            fixture.service("web").replicas().stream()
                .anyMatch(replica -> replica.state() == ReplicaState.ISOLATED));
    assertThat(fixture.containers("web")).contains(victim).hasSize(2);
    assertThat(fixture.service("web").state()).isEqualTo(ServiceState.DEGRADED);
    fixture.deployments.start(new ServiceKey(EngineFixture.NAME, "web"));
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).doesNotContain(victim).hasSize(2);
  }

  @Test
  void aPanicMayStopTheWholeService() throws InterruptedException {
    fixture.up(
        """
        web:
          image: app:1
          scale: {mode: fixed, replicas: 2}
          errors: {on_panic: {action: shutdown}}
        """);
    fixture.settle();
    killOne();

    fixture.await(() -> fixture.containers("web").isEmpty());
    assertThat(fixture.service("web").state()).isEqualTo(ServiceState.FAILED);
    assertThat(fixture.service("web").lastError().orElseThrow().exitCode()).hasValue(137);
  }

  @Test
  void givesUpAfterTheRestartsThatThePolicyAllows() {
    fixture.up(
        """
        web:
          image: app:1
          labels: {fake.exit: '4'}
          restart_policy: {kind: on_failure, max_attempts: 1, delay: 1s}
        """);
    fixture.await(() -> fixture.service("web").state() == ServiceState.FAILED);

    assertThat(fixture.world.journal().stream().filter(line -> line.startsWith("start ")))
        .hasSize(2);
    assertThat(fixture.containers("web")).as("kept to be looked at").hasSize(1);
  }

  @Test
  void aSignalToTheSchedulerIsShownWordByWordAndNotRepeated() {
    fixture
        .world
        .images()
        .failPull(
            ImageRef.parse("win:1"),
            () -> new AgentException.RouteToPeer("web", "windows", "start a windows node"));
    fixture.up("web: {image: win:1}");

    WaitResult settled = fixture.settle();

    assertThat(settled.reason().orElseThrow().kind()).isEqualTo("RouteToPeer");
    assertThat(settled.reason().orElseThrow().message()).contains("start a windows node");
    int pulls = fixture.world.images().pulls().size();
    fixture.clock.advance(Duration.ofMinutes(5));
    fixture.await(() -> fixture.service("web").state() == ServiceState.FAILED);
    assertThat(fixture.world.images().pulls()).hasSize(pulls);
  }

  @Test
  void whatIsOutsideIsTriedAgainUntilItWorks() {
    ImageRef image = ImageRef.parse("late:1");
    fixture
        .world
        .images()
        .failPull(image, () -> new AgentException.Network("the registry is away", null));
    fixture.up("web: {image: late:1}");
    fixture.await(() -> fixture.world.images().pulls().size() >= 3);
    fixture.world.images().add(image);

    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
  }

  @Test
  void aStoreThatFailsNowAndThenDelaysButLosesNothing() {
    long seed = Long.getLong("zlayer.seed", new Random().nextLong());
    System.out.println("seed " + seed + " (repeat with -Dzlayer.seed=" + seed + ")");
    fixture.stop();
    Mortal agent = Mortal.living(new Random(seed));
    fixture.open(agent.over(fixture.store), fixture.runtime);
    agent.refuse(0.3);

    insist(() -> fixture.up("web: {image: web:1, scale: {mode: manual, replicas: 2}}"));
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    insist(() -> fixture.deployments.scale(new ServiceKey(EngineFixture.NAME, "web"), 3));
    insist(() -> fixture.up("web: {image: web:2, scale: {mode: manual, replicas: 2}}"));
    fixture.await(
        () -> fixture.service("web").ready() == 3 && fixture.containers("web").size() == 3);
    insist(() -> fixture.deployments.down(EngineFixture.NAME, false));
    fixture.await(() -> fixture.look().outcome() == WaitResult.Outcome.REMOVED);

    assertThat(fixture.runtime.list()).isEmpty();
    assertThat(fixture.world.journal().stream().filter(line -> line.startsWith("start ")))
        .doesNotHaveDuplicates();
  }

  /** What is refused is not done, and can be asked for again. */
  private void insist(Runnable request) {
    fixture.await(
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

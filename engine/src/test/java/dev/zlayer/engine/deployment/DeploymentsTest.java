package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is wanted, from the first file to the last container. */
class DeploymentsTest {
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

  private static ServiceKey key(String service) {
    return new ServiceKey(EngineFixture.NAME, service);
  }

  private void stable() {
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
  }

  private static int order(List<String> lines, String beginning) {
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith(beginning)) {
        return i;
      }
    }
    throw new AssertionError(beginning + " is not in " + lines);
  }

  @Test
  void bringsUpWhatTheFileWantsAndLeavesItAloneTheSecondTime() {
    String file = "web: {image: app:1, scale: {mode: fixed, replicas: 3}}";
    fixture.up(file);
    stable();
    List<ContainerId> first = fixture.containers("web");
    assertThat(first).extracting(ContainerId::replica).containsExactlyInAnyOrder(1, 2, 3);

    assertThat(fixture.up(file).number()).as("the same file is the same revision").isEqualTo(1);
    stable();
    assertThat(fixture.containers("web")).isEqualTo(first);

    fixture.stop();
    fixture.open();
    stable();
    assertThat(fixture.containers("web")).as("adopted").isEqualTo(first);
  }

  @Test
  void rollsOutAChangeOneReplicaAfterTheOther() {
    fixture.up("web: {image: app:1, scale: {mode: fixed, replicas: 3}}");
    stable();
    fixture.up("web: {image: app:2, scale: {mode: fixed, replicas: 3}}");
    WaitResult settled = fixture.settle();

    assertThat(settled.outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    assertThat(running(fixture.world.journal()))
        .as("running after each step")
        .startsWith(1, 2, 3, 4, 3)
        .allMatch(count -> count <= 4)
        .endsWith(4, 3, 4, 3);
    assertThat(fixture.runtime.list())
        .hasSize(3)
        .extracting(container -> container.spec().image())
        .containsOnly(ImageRef.parse("app:2"));
    assertThat(fixture.service("web").revision()).isEqualTo(2);
  }

  /** How many run after each start and each removal. */
  private static List<Integer> running(List<String> journal) {
    var counts = new ArrayList<Integer>();
    int running = 0;
    for (String step : journal) {
      if (step.startsWith("start ")) {
        counts.add(++running);
      } else if (step.startsWith("remove ")) {
        counts.add(--running);
      }
    }
    return counts;
  }

  @Test
  void takesBackARevisionThatFailsAndSaysWhy() {
    fixture.up("web: {image: app:1, scale: {mode: fixed, replicas: 2}}");
    stable();
    List<ContainerId> good = fixture.containers("web");
    fixture.up(
        "web: {image: app:2, scale: {mode: fixed, replicas: 2},"
            + " labels: {fake.exit: '7', fake.log: no such table}}");

    WaitResult settled = fixture.settle();

    assertThat(settled.outcome()).isEqualTo(WaitResult.Outcome.FAILED);
    assertThat(settled.reason().orElseThrow().exitCode()).hasValue(7);
    assertThat(settled.reason().orElseThrow().lastLines()).containsExactly("no such table");
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).as("never touched").isEqualTo(good);
    assertThat(fixture.service("web").rollout().orElseThrow().rolledBackTo()).contains(1L);
    assertThat(fixture.events()).contains("service.rolled_back shop/web");

    fixture.stop();
    fixture.open();
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).isEqualTo(good);

    fixture.up("web: {image: app:3, scale: {mode: fixed, replicas: 2}}");
    stable();
  }

  @Test
  void takesBackARevisionWhoseImageCannotBePulled() {
    fixture.up("web: {image: app:1}");
    stable();
    List<ContainerId> good = fixture.containers("web");
    fixture
        .world
        .images()
        .failPull(ImageRef.parse("gone:1"), () -> new AgentException.PullFailed("gone:1", "no"));
    fixture.up("web: {image: gone:1}");
    fixture.await(() -> fixture.service("web").rollout().flatMap(r -> r.reason()).isPresent());

    assertThat(fixture.settle().reason().orElseThrow().kind()).isEqualTo("PullFailed");
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).isEqualTo(good);
  }

  @Test
  void startsInTheOrderOfDependenciesAndStopsInTheReverse() {
    fixture.up(
        """
        web: {image: web:1, depends: [{service: migrate, condition: completed}, api]}
        api: {image: api:1, depends: [db]}
        db: {image: db:1}
        migrate: {rtype: job, image: migrate:1, depends: [db], labels: {fake.exit: '0'}}
        """);
    stable();
    List<String> started = lines("start ");
    assertThat(order(started, "start shop/db/")).isLessThan(order(started, "start shop/api/"));
    assertThat(order(started, "start shop/db/")).isLessThan(order(started, "start shop/migrate/"));
    assertThat(order(started, "start shop/migrate/")).isLessThan(order(started, "start shop/web/"));
    assertThat(order(started, "start shop/api/")).isLessThan(order(started, "start shop/web/"));

    fixture.deployments.down(EngineFixture.NAME, false);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.REMOVED);

    List<String> stopped = lines("stop ");
    assertThat(order(stopped, "stop shop/web/")).isLessThan(order(stopped, "stop shop/api/"));
    assertThat(order(stopped, "stop shop/api/")).isLessThan(order(stopped, "stop shop/db/"));
    assertThat(fixture.runtime.list()).isEmpty();
    assertThat(fixture.networks).containsExactly("remove shop");
    assertThat(fixture.deployments.list()).isEmpty();
    assertThat(fixture.rotation).isEmpty();
    for (String kind : List.of("service", "deployment", "deployment.revision", "job.gate")) {
      assertThat(fixture.store.list(kind)).as(kind).isEmpty();
    }
  }

  private List<String> lines(String beginning) {
    return fixture.world.journal().stream().filter(line -> line.startsWith(beginning)).toList();
  }

  @Test
  void anEndpointWhosePortIsTakenFailsTheDeployment() {
    fixture.takenPorts.set(Integer.MAX_VALUE);
    fixture.up("web: {image: web:1}");

    WaitResult settled = fixture.settle();

    assertThat(settled.outcome()).isEqualTo(WaitResult.Outcome.FAILED);
    assertThat(settled.reason().orElseThrow().message())
        .isEqualTo("port 80 is already in use by nginx (pid 7)");
    assertThat(fixture.runtime.list()).as("its containers keep running").hasSize(1);
    fixture.takenPorts.set(0);
    fixture.await(
        () ->
            fixture.deployments.find(EngineFixture.NAME).orElseThrow().state()
                == DeploymentStatus.State.RUNNING);
  }

  @Test
  void anEndpointThatIsServedByTheSecondAttemptIsNoFailure() {
    fixture.takenPorts.set(1);
    fixture.up("web: {image: web:1}");
    stable();
  }

  @Test
  void runsAMigrationOnceForWhatItIs() {
    String web = "web: {image: web:%d, depends: [{service: migrate, condition: completed}]}\n";
    String job = "migrate: {rtype: job, image: migrate:%d, labels: {fake.exit: '0'}}";
    fixture.up(web.formatted(1) + job.formatted(1));
    stable();
    fixture.up(web.formatted(2) + job.formatted(1));
    stable();
    assertThat(fixture.jobs.list()).hasSize(1);

    fixture.up(web.formatted(2) + job.formatted(2));
    stable();
    assertThat(fixture.jobs.list()).hasSize(2);
  }

  @Test
  void aFailedMigrationFailsThoseWhoWaitAtOnceAndByName() {
    String web = "web: {image: web:1, depends: [{service: migrate, condition: completed}]}\n";
    String job = "migrate: {rtype: job, image: m:1, labels: {fake.exit: '%d', fake.log: oops}}";
    fixture.up(web + job.formatted(9));

    WaitResult settled = fixture.settle();

    assertThat(settled.outcome()).isEqualTo(WaitResult.Outcome.FAILED);
    assertThat(settled.reason().orElseThrow().exitCode()).hasValue(9);
    assertThat(settled.reason().orElseThrow().lastLines()).containsExactly("oops");
    fixture.await(() -> fixture.service("web").state() == ServiceState.FAILED);
    assertThat(fixture.service("web").lastError().orElseThrow().message()).contains("migrate");
    assertThat(fixture.containers("web")).isEmpty();

    fixture.up(web + job.formatted(0));
    stable();
  }

  @Test
  void waitsForAHealthyDependencyUntilItsTimeIsOver() {
    fixture.up(
        """
        web: {image: web:1, depends: [{service: db, timeout: 30s}]}
        log: {image: log:1, depends: [{service: db, timeout: 5s, on_timeout: warn}]}
        db:
          image: db:1
          labels: {fake.exec: '1'}
          health: {check: {type: command, command: ready}, start_grace: 1h, on_unhealthy: none}
        """);
    fixture.await(() -> fixture.service("web").waitingFor().isPresent());
    assertThat(fixture.service("web").waitingFor()).contains("db to be healthy");
    fixture.await(() -> fixture.service("log").state() == ServiceState.RUNNING);
    assertThat(fixture.events()).contains("service.warning shop/log");

    fixture.await(() -> fixture.service("web").state() == ServiceState.FAILED);
    assertThat(fixture.service("web").lastError().orElseThrow().kind())
        .isEqualTo("DependencyTimeout");
    assertThat(fixture.containers("web")).isEmpty();
  }

  @Test
  void scalesByHandWithinWhatTheFileAllows() {
    fixture.up(
        """
        web: {image: app:1, scale: {mode: manual}}
        fix: {image: app:1, scale: {mode: fixed, replicas: 1}}
        """);
    stable();
    fixture.deployments.scale(key("web"), 3);
    stable();
    assertThat(fixture.containers("web")).hasSize(3);
    fixture.stop();
    fixture.open();
    stable();
    assertThat(fixture.containers("web")).as("remembered").hasSize(3);
    fixture.deployments.scale(key("web"), 1);
    fixture.await(() -> fixture.containers("web").size() == 1);

    assertThatThrownBy(() -> fixture.deployments.scale(key("fix"), 2))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("mode: manual");
  }

  @Test
  void aServiceWithoutReplicasIsConnectedOnlyWhenItGetsSome() {
    fixture.up(
        """
        web: {image: app:1, scale: {mode: manual, replicas: 0}}
        api: {image: app:1}
        """);
    stable();
    assertThat(fixture.connected).containsExactly("api");

    fixture.deployments.scale(key("web"), 2);
    fixture.await(() -> fixture.service("web").ready() == 2);
    stable();
    assertThat(fixture.connected).contains("web");
    List<ContainerId> made = fixture.containers("web");
    fixture.stop();
    fixture.open();
    stable();
    assertThat(fixture.containers("web")).as("kept").containsExactlyInAnyOrderElementsOf(made);
    assertThat(fixture.runtime.list())
        .allMatch(container -> container.spec().labels().containsKey("connected"));

    fixture.deployments.scale(key("web"), 0);
    fixture.deployments.scale(key("web"), 1);
    fixture.await(() -> fixture.containers("web").size() == 1);
    stable();
    assertThat(fixture.runtime.list())
        .allMatch(container -> container.spec().labels().containsKey("connected"));
  }

  @Test
  void stopsStartsAndRestartsAService() {
    fixture.up("web: {image: app:1}");
    stable();
    List<ContainerId> first = fixture.containers("web");
    fixture.deployments.stop(key("web"));
    fixture.await(() -> fixture.service("web").state() == ServiceState.STOPPED);
    assertThat(fixture.containers("web")).isEmpty();
    fixture.deployments.start(key("web"));
    stable();
    List<ContainerId> second = fixture.containers("web");
    assertThat(second).hasSize(1).isNotEqualTo(first);
    fixture.deployments.restart(key("web"));
    stable();
    assertThat(fixture.containers("web")).hasSize(1).isNotEqualTo(second);
  }

  @Test
  void rollsTheUsersOfASecretThatChanged() {
    fixture.secrets.put("PASSWORD", "one");
    fixture.up("web: {image: app:1, env: {PASSWORD: '$S:password'}}\nlog: {image: log:1}");
    stable();
    List<ContainerId> web = fixture.containers("web");
    List<ContainerId> log = fixture.containers("log");
    fixture.secrets.put("PASSWORD", "two");
    fixture.deployments.secretsChanged();

    fixture.await(
        () -> !fixture.containers("web").equals(web) && fixture.containers("web").size() == 1);
    assertThat(fixture.containers("log")).isEqualTo(log);
    Container fresh = fixture.runtime.find(fixture.containers("web").getFirst()).orElseThrow();
    assertThat(fresh.spec().process().env()).containsEntry("PASSWORD", "two");
    assertThat(fresh.spec().labels().values()).noneMatch(value -> value.contains("two"));
  }

  @Test
  void takesServicesAwayThatAreNotInTheFileAnyMore() {
    fixture.up("web: {image: app:1}\nold: {image: old:1}");
    stable();
    fixture.up("web: {image: app:1}");
    fixture.await(() -> fixture.containers("old").isEmpty());
    stable();
    assertThat(fixture.deployments.status(EngineFixture.NAME).services()).hasSize(1);
  }

  @Test
  void returnsToAnEarlierRevision() {
    fixture.up("web: {image: app:1}");
    stable();
    fixture.up("web: {image: app:2}");
    stable();
    Revision back = fixture.deployments.rollback(EngineFixture.NAME, Optional.empty());
    stable();

    assertThat(back.number()).isEqualTo(3);
    assertThat(back.reason()).isEqualTo("rollback to 1");
    assertThat(fixture.runtime.list())
        .extracting(container -> container.spec().image())
        .containsExactly(ImageRef.parse("app:1"));
    assertThat(fixture.deployments.revisions(EngineFixture.NAME)).hasSize(3);
  }

  @Test
  void comesBackInOrderWhenAllContainersAreGone() throws InterruptedException {
    fixture.up("web: {image: web:1, depends: [db]}\ndb: {image: db:1}");
    stable();
    fixture.stop();
    int before = fixture.world.journal().size();
    for (Container container : fixture.runtime.list()) {
      container.remove(true);
    }
    fixture.open();
    stable();

    List<String> after = fixture.world.journal().subList(before, fixture.world.journal().size());
    assertThat(order(after, "start shop/db/")).isLessThan(order(after, "start shop/web/"));
  }

  @Test
  void aRemovalThatTakesLongerTellsWhy() throws InterruptedException {
    fixture.up("web: {image: app:1}");
    fixture.settle();
    fixture.stuckNetworks.set(2);

    fixture.deployments.down(EngineFixture.NAME, false);

    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.REMOVED);
    assertThat(fixture.events()).containsOnlyOnce("deployment.removal_delayed shop");
  }

  @Test
  void aRemovalThatCannotEndGivesItsReasonAndEndsWhenItCan() throws InterruptedException {
    fixture.up("web: {image: app:1}");
    fixture.settle();
    fixture.stuckNetworks.set(Integer.MAX_VALUE);

    fixture.deployments.down(EngineFixture.NAME, false);
    WaitResult stuck = fixture.settle();

    assertThat(stuck.outcome()).isEqualTo(WaitResult.Outcome.FAILED);
    assertThat(stuck.reason().orElseThrow().message()).contains("the bridge is busy");
    assertThat(fixture.deployments.status(EngineFixture.NAME).problem()).isEqualTo(stuck.reason());

    fixture.stuckNetworks.set(0);
    fixture.await(() -> fixture.deployments.find(EngineFixture.NAME).isEmpty());
  }

  @Test
  void aShutdownOfTheMachineStopsInOrderAndForgetsNothing() throws InterruptedException {
    fixture.up("web: {image: web:1, depends: [db]}\ndb: {image: db:1}");
    stable();
    fixture.deployments.shutdown(Deadline.after(Duration.ofSeconds(20)));

    assertThat(fixture.runtime.list()).isEmpty();
    assertThat(order(lines("stop "), "stop shop/web/"))
        .isLessThan(order(lines("stop "), "stop shop/db/"));
    fixture.stop();
    fixture.open();
    stable();
    assertThat(fixture.runtime.list()).hasSize(2);
  }

  @Test
  void groupsHaveTheirOwnImageAndEnvironment() {
    fixture.up(
        """
        web:
          image: app:1
          env: {A: base}
          replica_groups:
            - {role: reader, count: 2}
            - {role: writer, count: 1, image: app:2, env: {A: own}}
        """);
    stable();

    assertThat(fixture.runtime.list())
        .extracting(
            c ->
                "%s %s %s"
                    .formatted(
                        c.id().role(), c.spec().image().familiar(), c.spec().process().env()))
        .containsExactlyInAnyOrder(
            "reader app:1 {A=base}", "reader app:1 {A=base}", "writer app:2 {A=own}");
  }

  @Test
  void diffTellsWhatWouldChange() {
    fixture.up("web: {image: app:1}\nold: {image: old:1}\nsame: {image: s:1}");
    stable();

    DeploymentDiff diff =
        fixture.deployments.diff(
            EngineFixture.request(
                """
                web: {image: app:2, scale: {mode: fixed, replicas: 2}}
                new: {image: n:1}
                same: {image: s:1}
                """));

    assertThat(diff.changes())
        .extracting(change -> change.service() + " " + change.action() + " " + change.fields())
        .containsExactly(
            "new CREATE []", "old REMOVE []", "same KEEP []", "web UPDATE [image, scale]");
  }
}

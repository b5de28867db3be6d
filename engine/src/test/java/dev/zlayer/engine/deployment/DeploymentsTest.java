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
  private Shop shop;

  @BeforeEach
  void open() {
    shop = new Shop(artifacts);
  }

  @AfterEach
  void close() {
    shop.close();
  }

  private static ServiceKey key(String service) {
    return new ServiceKey(Shop.NAME, service);
  }

  private void stable() {
    assertThat(shop.settle().outcome()).isEqualTo(Settled.Outcome.STABLE);
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
    shop.up(file);
    stable();
    List<ContainerId> first = shop.containers("web");
    assertThat(first).extracting(ContainerId::replica).containsExactlyInAnyOrder(1, 2, 3);

    assertThat(shop.up(file).number()).as("the same file is the same revision").isEqualTo(1);
    stable();
    assertThat(shop.containers("web")).isEqualTo(first);

    shop.stop();
    shop.open();
    stable();
    assertThat(shop.containers("web")).as("adopted").isEqualTo(first);
  }

  @Test
  void rollsOutAChangeOneReplicaAfterTheOther() {
    shop.up("web: {image: app:1, scale: {mode: fixed, replicas: 3}}");
    stable();
    shop.up("web: {image: app:2, scale: {mode: fixed, replicas: 3}}");
    Settled settled = shop.settle();

    assertThat(settled.outcome()).isEqualTo(Settled.Outcome.STABLE);
    assertThat(running(shop.world.journal()))
        .as("running after each step")
        .startsWith(1, 2, 3, 4, 3)
        .allMatch(count -> count <= 4)
        .endsWith(4, 3, 4, 3);
    assertThat(shop.runtime.list())
        .hasSize(3)
        .extracting(container -> container.spec().image())
        .containsOnly(ImageRef.parse("app:2"));
    assertThat(shop.service("web").revision()).isEqualTo(2);
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
    shop.up("web: {image: app:1, scale: {mode: fixed, replicas: 2}}");
    stable();
    List<ContainerId> good = shop.containers("web");
    shop.up(
        "web: {image: app:2, scale: {mode: fixed, replicas: 2},"
            + " labels: {fake.exit: '7', fake.log: no such table}}");

    Settled settled = shop.settle();

    assertThat(settled.outcome()).isEqualTo(Settled.Outcome.FAILED);
    assertThat(settled.reason().orElseThrow().exitCode()).hasValue(7);
    assertThat(settled.reason().orElseThrow().lastLines()).containsExactly("no such table");
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(shop.containers("web")).as("never touched").isEqualTo(good);
    assertThat(shop.service("web").rollout().orElseThrow().rolledBackTo()).contains(1L);
    assertThat(shop.events()).contains("service.rolled_back shop/web");

    shop.stop();
    shop.open();
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(shop.containers("web")).isEqualTo(good);

    shop.up("web: {image: app:3, scale: {mode: fixed, replicas: 2}}");
    stable();
  }

  @Test
  void takesBackARevisionWhoseImageCannotBePulled() {
    shop.up("web: {image: app:1}");
    stable();
    List<ContainerId> good = shop.containers("web");
    shop.world
        .images()
        .failPull(ImageRef.parse("gone:1"), () -> new AgentException.PullFailed("gone:1", "no"));
    shop.up("web: {image: gone:1}");
    shop.await(() -> shop.service("web").rollout().flatMap(r -> r.reason()).isPresent());

    assertThat(shop.settle().reason().orElseThrow().kind()).isEqualTo("PullFailed");
    shop.await(() -> shop.service("web").state() == ServiceState.RUNNING);
    assertThat(shop.containers("web")).isEqualTo(good);
  }

  @Test
  void startsInTheOrderOfDependenciesAndStopsInTheReverse() {
    shop.up(
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

    shop.deployments.down(Shop.NAME, false);
    assertThat(shop.settle().outcome()).isEqualTo(Settled.Outcome.REMOVED);

    List<String> stopped = lines("stop ");
    assertThat(order(stopped, "stop shop/web/")).isLessThan(order(stopped, "stop shop/api/"));
    assertThat(order(stopped, "stop shop/api/")).isLessThan(order(stopped, "stop shop/db/"));
    assertThat(shop.runtime.list()).isEmpty();
    assertThat(shop.networks).containsExactly("remove shop");
    assertThat(shop.deployments.list()).isEmpty();
    assertThat(shop.rotation).isEmpty();
    for (String kind : List.of("service", "deployment", "deployment.revision", "job.gate")) {
      assertThat(shop.store.list(kind)).as(kind).isEmpty();
    }
  }

  private List<String> lines(String beginning) {
    return shop.world.journal().stream().filter(line -> line.startsWith(beginning)).toList();
  }

  @Test
  void anEndpointWhosePortIsTakenFailsTheDeployment() {
    shop.takenPorts.set(Integer.MAX_VALUE);
    shop.up("web: {image: web:1}");

    Settled settled = shop.settle();

    assertThat(settled.outcome()).isEqualTo(Settled.Outcome.FAILED);
    assertThat(settled.reason().orElseThrow().message())
        .isEqualTo("port 80 is already in use by nginx (pid 7)");
    assertThat(shop.runtime.list()).as("its containers keep running").hasSize(1);
    shop.takenPorts.set(0);
    shop.await(
        () ->
            shop.deployments.find(Shop.NAME).orElseThrow().state()
                == DeploymentStatus.State.RUNNING);
  }

  @Test
  void anEndpointThatIsServedByTheSecondAttemptIsNoFailure() {
    shop.takenPorts.set(1);
    shop.up("web: {image: web:1}");
    stable();
  }

  @Test
  void runsAMigrationOnceForWhatItIs() {
    String web = "web: {image: web:%d, depends: [{service: migrate, condition: completed}]}\n";
    String job = "migrate: {rtype: job, image: migrate:%d, labels: {fake.exit: '0'}}";
    shop.up(web.formatted(1) + job.formatted(1));
    stable();
    shop.up(web.formatted(2) + job.formatted(1));
    stable();
    assertThat(shop.jobs.list()).hasSize(1);

    shop.up(web.formatted(2) + job.formatted(2));
    stable();
    assertThat(shop.jobs.list()).hasSize(2);
  }

  @Test
  void aFailedMigrationFailsThoseWhoWaitAtOnceAndByName() {
    String web = "web: {image: web:1, depends: [{service: migrate, condition: completed}]}\n";
    String job = "migrate: {rtype: job, image: m:1, labels: {fake.exit: '%d', fake.log: oops}}";
    shop.up(web + job.formatted(9));

    Settled settled = shop.settle();

    assertThat(settled.outcome()).isEqualTo(Settled.Outcome.FAILED);
    assertThat(settled.reason().orElseThrow().exitCode()).hasValue(9);
    assertThat(settled.reason().orElseThrow().lastLines()).containsExactly("oops");
    shop.await(() -> shop.service("web").state() == ServiceState.FAILED);
    assertThat(shop.service("web").lastError().orElseThrow().message()).contains("migrate");
    assertThat(shop.containers("web")).isEmpty();

    shop.up(web + job.formatted(0));
    stable();
  }

  @Test
  void waitsForAHealthyDependencyUntilItsTimeIsOver() {
    shop.up(
        """
        web: {image: web:1, depends: [{service: db, timeout: 30s}]}
        log: {image: log:1, depends: [{service: db, timeout: 5s, on_timeout: warn}]}
        db:
          image: db:1
          labels: {fake.exec: '1'}
          health: {check: {type: command, command: ready}, start_grace: 1h, on_unhealthy: none}
        """);
    shop.await(() -> shop.service("web").waitingFor().isPresent());
    assertThat(shop.service("web").waitingFor()).contains("db to be healthy");
    shop.await(() -> shop.service("log").state() == ServiceState.RUNNING);
    assertThat(shop.events()).contains("service.warning shop/log");

    shop.await(() -> shop.service("web").state() == ServiceState.FAILED);
    assertThat(shop.service("web").lastError().orElseThrow().kind()).isEqualTo("DependencyTimeout");
    assertThat(shop.containers("web")).isEmpty();
  }

  @Test
  void scalesByHandWithinWhatTheFileAllows() {
    shop.up(
        """
        web: {image: app:1, scale: {mode: manual}}
        fix: {image: app:1, scale: {mode: fixed, replicas: 1}}
        """);
    stable();
    shop.deployments.scale(key("web"), 3);
    stable();
    assertThat(shop.containers("web")).hasSize(3);
    shop.stop();
    shop.open();
    stable();
    assertThat(shop.containers("web")).as("remembered").hasSize(3);
    shop.deployments.scale(key("web"), 1);
    shop.await(() -> shop.containers("web").size() == 1);

    assertThatThrownBy(() -> shop.deployments.scale(key("fix"), 2))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("mode: manual");
  }

  @Test
  void stopsStartsAndRestartsAService() {
    shop.up("web: {image: app:1}");
    stable();
    List<ContainerId> first = shop.containers("web");
    shop.deployments.stop(key("web"));
    shop.await(() -> shop.service("web").state() == ServiceState.STOPPED);
    assertThat(shop.containers("web")).isEmpty();
    shop.deployments.start(key("web"));
    stable();
    List<ContainerId> second = shop.containers("web");
    assertThat(second).hasSize(1).isNotEqualTo(first);
    shop.deployments.restart(key("web"));
    stable();
    assertThat(shop.containers("web")).hasSize(1).isNotEqualTo(second);
  }

  @Test
  void rollsTheUsersOfASecretThatChanged() {
    shop.secrets.put("PASSWORD", "one");
    shop.up("web: {image: app:1, env: {PASSWORD: '$S:password'}}\nlog: {image: log:1}");
    stable();
    List<ContainerId> web = shop.containers("web");
    List<ContainerId> log = shop.containers("log");
    shop.secrets.put("PASSWORD", "two");
    shop.deployments.secretsChanged();

    shop.await(() -> !shop.containers("web").equals(web) && shop.containers("web").size() == 1);
    assertThat(shop.containers("log")).isEqualTo(log);
    Container fresh = shop.runtime.find(shop.containers("web").getFirst()).orElseThrow();
    assertThat(fresh.spec().process().env()).containsEntry("PASSWORD", "two");
    assertThat(fresh.spec().labels().values()).noneMatch(value -> value.contains("two"));
  }

  @Test
  void takesServicesAwayThatAreNotInTheFileAnyMore() {
    shop.up("web: {image: app:1}\nold: {image: old:1}");
    stable();
    shop.up("web: {image: app:1}");
    shop.await(() -> shop.containers("old").isEmpty());
    stable();
    assertThat(shop.deployments.status(Shop.NAME).services()).hasSize(1);
  }

  @Test
  void returnsToAnEarlierRevision() {
    shop.up("web: {image: app:1}");
    stable();
    shop.up("web: {image: app:2}");
    stable();
    Revision back = shop.deployments.rollback(Shop.NAME, Optional.empty());
    stable();

    assertThat(back.number()).isEqualTo(3);
    assertThat(back.reason()).isEqualTo("rollback to 1");
    assertThat(shop.runtime.list())
        .extracting(container -> container.spec().image())
        .containsExactly(ImageRef.parse("app:1"));
    assertThat(shop.deployments.revisions(Shop.NAME)).hasSize(3);
  }

  @Test
  void comesBackInOrderWhenAllContainersAreGone() throws InterruptedException {
    shop.up("web: {image: web:1, depends: [db]}\ndb: {image: db:1}");
    stable();
    shop.stop();
    int before = shop.world.journal().size();
    for (Container container : shop.runtime.list()) {
      container.remove(true);
    }
    shop.open();
    stable();

    List<String> after = shop.world.journal().subList(before, shop.world.journal().size());
    assertThat(order(after, "start shop/db/")).isLessThan(order(after, "start shop/web/"));
  }

  @Test
  void aRemovalThatTakesLongerTellsWhy() throws InterruptedException {
    shop.up("web: {image: app:1}");
    shop.settle();
    shop.stuckNetworks.set(2);

    shop.deployments.down(Shop.NAME, false);

    assertThat(shop.settle().outcome()).isEqualTo(Settled.Outcome.REMOVED);
    assertThat(shop.events()).containsOnlyOnce("deployment.removal_delayed shop");
  }

  @Test
  void aShutdownOfTheMachineStopsInOrderAndForgetsNothing() throws InterruptedException {
    shop.up("web: {image: web:1, depends: [db]}\ndb: {image: db:1}");
    stable();
    shop.deployments.shutdown(Deadline.after(Duration.ofSeconds(20)));

    assertThat(shop.runtime.list()).isEmpty();
    assertThat(order(lines("stop "), "stop shop/web/"))
        .isLessThan(order(lines("stop "), "stop shop/db/"));
    shop.stop();
    shop.open();
    stable();
    assertThat(shop.runtime.list()).hasSize(2);
  }

  @Test
  void groupsHaveTheirOwnImageAndEnvironment() {
    shop.up(
        """
        web:
          image: app:1
          env: {A: base}
          replica_groups:
            - {role: reader, count: 2}
            - {role: writer, count: 1, image: app:2, env: {A: own}}
        """);
    stable();

    assertThat(shop.runtime.list())
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
    shop.up("web: {image: app:1}\nold: {image: old:1}\nsame: {image: s:1}");
    stable();

    DeploymentDiff diff =
        shop.deployments.diff(
            Shop.request(
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

package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.service.ReplicaStatus;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.port.Container;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Containers of replicas that are created before they are started. */
class PreparedReplicasTest {
  private static final String WEB =
      "web: {image: app:1, restart_policy: {kind: always, delay: 20s}}";

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

  private List<ContainerId> in(ContainerStatus.Phase phase) {
    return fixture.runtime.list().stream()
        .filter(container -> container.status().phase() == phase)
        .map(Container::id)
        .toList();
  }

  private void kill() throws InterruptedException {
    fixture
        .runtime
        .find(in(ContainerStatus.Phase.RUNNING).getFirst())
        .orElseThrow()
        .kill(Signal.KILL);
  }

  /** Without letting time pass. */
  private void soon(Runnable holds) {
    Awaitility.await().pollInterval(Duration.ofMillis(2)).untilAsserted(holds::run);
  }

  private long journal(String word) {
    return fixture.world.journal().stream().filter(line -> line.startsWith(word + " ")).count();
  }

  /** Ends the process, and lets time pass until its successor may be created. */
  private void crash() throws InterruptedException {
    kill();
    soon(() -> assertThat(next().nextTry()).isPresent());
    soon(() -> assertThat(fixture.containers("web")).isEmpty());
    assertThat(journal("prepare")).as("too early").isZero();
    Instant due = next().nextTry().orElseThrow();
    fixture.clock.advance(Duration.between(fixture.clock.instant(), due.minusSeconds(4)));
  }

  private ReplicaStatus next() {
    return fixture.service("web").replicas().getFirst();
  }

  private void prepared() {
    soon(() -> assertThat(in(ContainerStatus.Phase.PREPARED)).hasSize(1));
  }

  @Test
  void theSuccessorWaitsFiveSecondsAtMost() throws InterruptedException {
    fixture.up(WEB);
    fixture.settle();
    crash();
    prepared();
    ContainerId next = in(ContainerStatus.Phase.PREPARED).getFirst();
    assertThat(journal("start")).isEqualTo(1);
    assertThat(fixture.service("web").ready()).isZero();
    assertThat(fixture.events().stream().filter(event -> event.startsWith("replica.starting")))
        .hasSize(1);
    fixture.clock.advance(Duration.ofSeconds(4));
    soon(() -> assertThat(in(ContainerStatus.Phase.RUNNING)).containsExactly(next));
    assertThat(fixture.service("web").replicas().getFirst().restarts()).isEqualTo(1);
  }

  @Test
  void oneThatCannotBeMadeAheadIsMadeInTime() throws InterruptedException {
    fixture.up(WEB.replace("app:1", "app:1, labels: {fake.fail: prepare}"));
    fixture.settle();
    crash();
    soon(() -> assertThat(journal("prepare")).isEqualTo(1));
    soon(() -> assertThat(fixture.containers("web")).isEmpty());
    fixture.await(() -> !in(ContainerStatus.Phase.RUNNING).isEmpty());
    assertThat(journal("prepare")).isEqualTo(1);
    assertThat(fixture.containers("web")).hasSize(1);
    assertThat(fixture.service("web").replicas().getFirst().restarts()).isEqualTo(1);
    assertThat(fixture.events()).noneMatch(event -> event.startsWith("replica.failed"));
  }

  @Test
  void oneThatSomebodyRemovedIsMadeInTime() throws InterruptedException {
    fixture.up(WEB);
    fixture.settle();
    crash();
    prepared();
    fixture.runtime.find(in(ContainerStatus.Phase.PREPARED).getFirst()).orElseThrow().remove(true);
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.containers("web")).hasSize(1);
    assertThat(fixture.events()).noneMatch(event -> event.startsWith("replica.failed"));
  }

  @Test
  void stoppingTheServiceRemovesIt() throws InterruptedException {
    fixture.up(WEB);
    fixture.settle();
    crash();
    prepared();
    fixture.deployments.down(EngineFixture.NAME, false);
    soon(() -> assertThat(fixture.containers("web")).isEmpty());
    assertThat(journal("start")).isEqualTo(1);
  }

  @Test
  void theNextOfARollOutIsRemovedAfterTenMinutes() {
    String two =
        """
        web: {image: app:1, scale: {mode: fixed, replicas: 2}, update: {min_healthy_time: 24h},
              health: {check: {type: none}}}
        """;
    fixture.up(two);
    fixture.settle();
    fixture.up(two.replace("app:1", "app:2"));
    prepared();
    Instant before = fixture.clock.instant();
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(5))
        .until(
            () -> {
              boolean gone = in(ContainerStatus.Phase.PREPARED).isEmpty();
              fixture.clock.advance(Duration.ofSeconds(gone ? 0 : 10));
              return gone;
            });
    assertThat(fixture.clock.instant()).isAfterOrEqualTo(before.plus(Duration.ofMinutes(10)));
    soon(() -> assertThat(fixture.containers("web")).hasSize(3));
    fixture.clock.advance(Duration.ofMinutes(20));
    soon(() -> assertThat(in(ContainerStatus.Phase.RUNNING)).hasSize(3));
    assertThat(journal("prepare")).as("not again and again").isEqualTo(1);
  }

  @Test
  void noneOfASingleInstanceOrOfOneWithInitStepsOrVolumes() throws InterruptedException {
    fixture.up(
        """
        one: {image: app:1, single_instance: true}
        steps:
          image: app:1
          init: {steps: [{id: check, uses: init.run, with: {command: "true"}}]}
        files: {image: app:1, storage: [{type: bind, source: /srv, target: /srv}]}
        ports: {image: app:1, port_mappings: [{host_port: 8080, container_port: 80}]}
        """);
    fixture.settle();
    List<ContainerId> before = in(ContainerStatus.Phase.RUNNING);
    assertThat(before).hasSize(4);
    for (ContainerId id : before) {
      fixture.runtime.find(id).orElseThrow().kill(Signal.KILL);
    }
    fixture.await(
        () ->
            in(ContainerStatus.Phase.RUNNING).size() == 4
                && in(ContainerStatus.Phase.RUNNING).stream().noneMatch(before::contains));
    assertThat(journal("prepare")).isZero();
  }
}

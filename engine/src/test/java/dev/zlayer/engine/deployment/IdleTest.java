package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.port.Rotation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A service that may have no replica. */
class IdleTest {
  private static final ServiceKey WEB = new ServiceKey(EngineFixture.NAME, "web");
  private static final String FILE =
      """
      web:
        image: web:1
        scale: {mode: adaptive, min: 0, max: 3, idle: 20s}
        health: {check: {type: none}}
        endpoints: [{name: http, protocol: http, port: 80, host: web.test, hold: 10s}]
      """;

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

  private void requests(long total, long open) {
    fixture.requests.put(WEB, new Rotation.Requests(total, open, Map.of()));
  }

  private void pass(int seconds) {
    for (int i = 0; i < seconds; i++) {
      fixture.clock.advance(Duration.ofSeconds(1));
    }
  }

  private void idle() {
    fixture.await(
        () -> {
          pass(1);
          return fixture.service("web").state() == ServiceState.IDLE
              && fixture.containers("web").isEmpty();
        });
  }

  @Test
  void hasNoReplicaAfterATimeWithoutRequestsAndOneForTheNext() {
    requests(0, 0);
    fixture.up(FILE);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    assertThat(fixture.service("web").ready()).isEqualTo(1);

    idle();
    assertThat(fixture.service("web").wanted()).isZero();
    assertThat(fixture.deployments.find(EngineFixture.NAME).orElseThrow().state())
        .isEqualTo(DeploymentStatus.State.RUNNING);
    fixture.await(() -> fixture.listeners.containsKey(WEB));

    requests(1, 1);
    fixture.listeners.get(WEB).run();

    fixture.await(() -> fixture.service("web").ready() == 1);
    assertThat(fixture.events()).contains("service.idle shop/web", "service.requested shop/web");
    pass(60);
    assertThat(fixture.service("web").state())
        .as("a request is open")
        .isEqualTo(ServiceState.RUNNING);
    requests(1, 0);
    idle();
  }

  @Test
  void isNeverWithoutAReplicaWhereRequestsAreNotCounted() {
    fixture.up(FILE);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);

    pass(120);

    assertThat(fixture.service("web").state()).isEqualTo(ServiceState.RUNNING);
  }

  @Test
  void anotherRevisionIsTriedWithAReplicaAndAnAgentThatStartsAnewStartsNone() {
    requests(0, 0);
    fixture.up(FILE);
    idle();
    fixture.stop();
    fixture.open();
    fixture.await(() -> fixture.service("web").state() == ServiceState.IDLE);
    assertThat(fixture.containers("web")).isEmpty();

    fixture.up(FILE.replace("web:1", "web:2"));

    fixture.await(() -> fixture.service("web").ready() == 1);
    idle();
  }
}

package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.Claim;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SingleInstanceTest {
  private static final ServiceKey WEB = new ServiceKey(EngineFixture.NAME, "web");
  private static final String FILE =
      """
      web:
        image: web:1
        single_instance: true
        scale: {mode: manual}
        health: {check: {type: none}}
        update: {min_healthy_time: 0s}
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

  @Test
  void anUpdateStopsItBeforeItStartsTheNextOne() {
    fixture.up(FILE);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    fixture.up(FILE.replace("web:1", "web:2"));
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    List<String> steps =
        fixture.events().stream()
            .map(event -> event.substring(0, event.indexOf(' ')))
            .filter(kind -> kind.equals("replica.starting") || kind.equals("replica.removed"))
            .toList();
    assertThat(steps).containsExactly("replica.starting", "replica.removed", "replica.starting");
  }

  @Test
  void itIsNotScaled() {
    fixture.up(FILE);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    assertThatThrownBy(() -> fixture.deployments.scale(WEB, 2))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("single_instance: true");
    assertThat(fixture.containers("web")).hasSize(1);
  }

  /** Without a cluster nothing needs a claim. */
  @Test
  void aShareOfAClusterWaitsForItsClaim() {
    fixture.claims = claim -> Optional.of("the claim " + claim);
    UpRequest request = EngineFixture.request(FILE);
    var share = new Share(7, Map.of("web", List.of(1)));
    fixture.deployments.up(
        new UpRequest(
            request.name(),
            request.file(),
            request.directory(),
            OptionalLong.empty(),
            Optional.of(share)));
    fixture.await(() -> fixture.service("web").waitingFor().isPresent());
    assertThat(fixture.service("web").waitingFor()).contains("the claim shop/web");
    assertThat(fixture.service("web").state()).isEqualTo(ServiceState.WAITING);
    assertThat(fixture.containers("web")).isEmpty();

    fixture.claims = _ -> Optional.empty();
    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(fixture.runtime.list().getFirst().spec().labels())
        .containsEntry(Claim.LABEL, "shop/web");
  }
}

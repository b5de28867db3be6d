package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.port.Rotation;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Roll-outs in steps, with a clock and counters of the test. */
class RolloutTest {
  private static final ServiceKey WEB = new ServiceKey(EngineFixture.NAME, "web");
  private static final String FILE =
      """
      web:
        image: web:1
        labels: {fake.ip: 10.0.0.1}
        scale: {mode: fixed, replicas: 2}
        health: {check: {type: none}}
        update: {strategy: STRATEGY, min_healthy_time: 1s, bake: 10s}
        endpoints: [{name: http, protocol: http, port: 80, host: web.test}]
      """;

  @TempDir Path artifacts;
  private EngineFixture fixture;
  private final AtomicLong served = new AtomicLong();

  @BeforeEach
  void open() {
    fixture = new EngineFixture(artifacts);
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  private void first(String strategy) {
    fixture.up(FILE.replace("STRATEGY", strategy));
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    fixture.up(FILE.replace("STRATEGY", strategy).replace("web:1", "web:2"));
  }

  private List<Rotation.Member> members() {
    return fixture.rotation.get(WEB).members();
  }

  /** The weights of ready members, those of the first two generations first. */
  private List<Integer> weights() {
    return members().stream()
        .sorted((a, b) -> Long.compare(a.id().generation(), b.id().generation()))
        .filter(Rotation.Member::ready)
        .map(Rotation.Member::weight)
        .toList();
  }

  private long fresh() {
    return members().stream().filter(one -> one.id().generation() > 2).count();
  }

  /** Every member is sent so many more requests, of which the new ones fail. */
  private void serve(long requests, boolean failing) {
    served.addAndGet(requests);
    var counts = new HashMap<String, Rotation.Served>();
    for (Rotation.Member member : members()) {
      boolean bad = failing && member.id().generation() > 2;
      counts.put(
          member.id().runtimeName(), new Rotation.Served(served.get(), bad ? served.get() : 0));
    }
    fixture.requests.put(WEB, new Rotation.Requests(served.get(), 0, Map.copyOf(counts)));
  }

  @Test
  void aCanaryMovesRequestsInStepsAndContinuesAfterAKill() {
    first("canary");
    fixture.await(() -> weights().equals(List.of(256, 256, 27)));
    assertThat(fixture.service("web").rollout().orElseThrow().step())
        .contains("canary, 5% of the requests go to new replicas");
    assertThat(fresh()).isEqualTo(1);
    assertThat(fixture.service("web").revision()).as("on the way to it").isEqualTo(2);
    assertThat(fixture.service("web").replicas())
        .filteredOn(one -> one.ready() && one.current())
        .singleElement()
        .matches(one -> one.id().generation() > 2);
    fixture.stop();
    fixture.open();
    fixture.await(() -> fixture.service("web").rollout().flatMap(one -> one.step()).isPresent());
    assertThat(weights()).as("the step is durable").isEqualTo(List.of(256, 256, 27));

    fixture.await(
        () -> {
          serve(10, false);
          return weights().equals(List.of(128, 128, 256));
        });
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    assertThat(weights()).containsExactly(1, 1);
    assertThat(fixture.service("web").revision()).isEqualTo(2);
    assertThat(fixture.events()).contains("service.rollout_step shop/web");
  }

  @Test
  void aCanaryWhoseRequestsFailIsTakenBack() {
    first("canary");
    fixture.await(() -> weights().size() == 3);

    fixture.await(
        () -> {
          serve(10, true);
          return fixture.service("web").rollout().flatMap(one -> one.rolledBackTo()).isPresent();
        });

    fixture.await(() -> fixture.service("web").state() == ServiceState.RUNNING);
    assertThat(weights()).containsExactly(1, 1);
    assertThat(fresh()).isZero();
    assertThat(fixture.service("web").rollout().orElseThrow().reason().orElseThrow().message())
        .contains("requests to the new replicas failed (100.0%; 0.0% of those to the old ones)");
    assertThat(fixture.events()).contains("service.rolled_back shop/web");
  }

  @Test
  void blueGreenSwitchesAtOnceAndKeepsTheOldOnesForAWhile() {
    first("blue_green");
    fixture.await(() -> members().size() == 4);
    assertThat(members())
        .filteredOn(Rotation.Member::ready)
        .allMatch(one -> one.id().generation() <= 2);

    fixture.await(
        () ->
            members().stream()
                .filter(Rotation.Member::ready)
                .allMatch(one -> one.id().generation() > 2));

    assertThat(members()).as("the old ones can be returned to").hasSize(4);
    assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
    assertThat(members()).hasSize(2);
  }
}

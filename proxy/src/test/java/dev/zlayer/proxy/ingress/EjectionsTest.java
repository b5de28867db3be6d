package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import java.net.InetAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which replicas are ejected, from counts alone. */
class EjectionsTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");

  private final Ejections ejections = new Ejections();
  private final Map<String, Traffic> traffic = new HashMap<>();
  private Instant now = Instant.EPOCH;

  /** With ejections of 10 seconds. */
  private static IngressEndpoint endpoint(int servers) {
    return new IngressEndpoint(
        WEB,
        "http",
        80,
        false,
        Routes.full(),
        IntStream.rangeClosed(1, servers)
            .mapToObj(
                slot ->
                    new IngressEndpoint.Server(
                        slot, "c" + slot, InetAddress.ofLiteral("10.0.0." + slot), true, 100))
            .toList());
  }

  /** A second later, with these failures of ten requests more for each server. */
  private List<Ingress.Ejection> second(IngressEndpoint endpoint, int... failures) {
    for (int i = 0; i < failures.length; i++) {
      long failed = failures[i];
      traffic.merge(
          "shop:web:http/s" + (i + 1),
          traffic(10, failed),
          (before, _) -> traffic(before.requests() + 10, before.errors() + failed));
    }
    now = now.plusSeconds(1);
    return ejections.check(List.of(endpoint), traffic, now);
  }

  private static Traffic traffic(long requests, long failed) {
    Traffic none = Traffic.NONE;
    return new Traffic(
        none.perSecond(), requests, Map.of("5xx", failed), 0, none.open(), none.averageMillis());
  }

  private static List<String> ready(IngressEndpoint endpoint) {
    return endpoint.servers().stream()
        .filter(IngressEndpoint.Server::ready)
        .map(IngressEndpoint.Server::container)
        .toList();
  }

  @Test
  void whoFailsMoreThanTheOthersIsEjectedForAWhile() {
    IngressEndpoint three = endpoint(3);
    assertThat(second(three, 0, 0, 0)).isEmpty();

    assertThat(second(three, 0, 8, 1))
        .containsExactly(
            new Ingress.Ejection(WEB, "http", "c2", Optional.of(Duration.ofSeconds(10)), 8, 10));
    assertThat(ready(ejections.without(three))).containsExactly("c1", "c3");
    for (int i = 1; i < 10; i++) {
      assertThat(second(three, 0, 0, 0)).isEmpty();
    }
    assertThat(second(three, 0, 0, 0))
        .containsExactly(new Ingress.Ejection(WEB, "http", "c2", Optional.empty(), 0, 0));
    assertThat(ready(ejections.without(three))).hasSize(3);

    assertThat(second(three, 0, 10, 0).getFirst().time())
        .as("longer when it fails again")
        .contains(Duration.ofSeconds(20));
  }

  @Test
  void whatFailsEverywhereEjectsNobody() {
    IngressEndpoint three = endpoint(3);
    for (int i = 0; i < 30; i++) {
      assertThat(second(three, 10, 9, 8)).isEmpty();
    }
    assertThat(ready(ejections.without(three))).hasSize(3);
  }

  @Test
  void neverMoreThanHalfAreEjected() {
    IngressEndpoint four = endpoint(4);
    assertThat(second(four, 0, 0, 0, 0)).isEmpty();
    assertThat(second(four, 10, 0, 0, 0)).hasSize(1);
    assertThat(second(four, 0, 20, 0, 0)).hasSize(1);
    assertThat(second(four, 0, 0, 30, 0)).isEmpty();
    assertThat(ready(ejections.without(four))).containsExactly("c3", "c4");
  }

  @Test
  void theOnlyReplicaIsNeverEjected() {
    IngressEndpoint one = endpoint(1);
    assertThat(second(one, 0)).isEmpty();
    assertThat(second(one, 10)).isEmpty();
  }

  @Test
  void aNewWorkerThatCountsFromZeroEjectsNobody() {
    IngressEndpoint two = endpoint(2);
    assertThat(second(two, 0, 4)).isEmpty();
    assertThat(second(two, 0, 0)).isEmpty();
    traffic.clear();
    assertThat(second(two, 0, 4)).isEmpty();
    assertThat(second(two, 0, 10)).hasSize(1);
  }

  @Test
  void aFewFailuresAreNotEnough() {
    IngressEndpoint two = endpoint(2);
    assertThat(second(two, 0, 0)).isEmpty();
    assertThat(second(two, 0, 4)).isEmpty();
  }
}

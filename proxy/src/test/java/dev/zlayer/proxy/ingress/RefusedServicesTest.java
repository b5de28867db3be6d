package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RefusedServicesTest {
  private final RefusedServices refused = new RefusedServices();
  private final List<ServiceKey> all =
      IntStream.range(0, 1000).mapToObj(i -> new ServiceKey("shop", "s%03d".formatted(i))).toList();

  @Test
  void thoseThatAreRefusedAreFoundWithFewChecks() throws Exception {
    List<ServiceKey> bad = List.of(all.get(0), all.get(500), all.get(999));
    var checks = new ArrayList<Integer>();

    var found =
        refused.find(
            all,
            services -> {
              checks.add(services.size());
              return services.stream().filter(bad::contains).findFirst().map(one -> "bad " + one);
            });

    assertThat(found.keySet()).containsExactlyElementsOf(bad);
    assertThat(found.get(all.get(500))).isEqualTo("bad shop/s500");
    assertThat(bad).allMatch(refused::contains);
    assertThat(refused.reason(all.get(1))).isEmpty();
    assertThat(checks).hasSizeLessThan(70);
  }

  @Test
  void whatIsRefusedWithoutAnyServiceIsTheFaultOfNone() throws Exception {
    assertThat(refused.find(all, _ -> Optional.of("no memory"))).isEmpty();
    assertThat(all).noneMatch(refused::contains);
  }

  @Test
  void aServiceIsTriedAgainWhenItIsAnother() throws Exception {
    var _ =
        refused.find(
            all, services -> services.isEmpty() ? Optional.empty() : Optional.of("all are bad"));
    assertThat(all).allMatch(refused::contains);

    refused.forget(all.get(7));
    assertThat(refused.contains(all.get(7))).isFalse();
    refused.forgetAll();
    assertThat(all).noneMatch(refused::contains);
  }
}

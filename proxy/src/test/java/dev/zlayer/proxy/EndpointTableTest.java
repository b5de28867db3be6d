package dev.zlayer.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EndpointTableTest {
  private final EndpointTable table = new EndpointTable("t", true);

  @Test
  void aPacketMeetsTheSameRulesHoweverManyNetworksThereAre() {
    assertThat(rules(table.whole(List.of(), ranges(100), 53, false)))
        .isEqualTo(rules(table.whole(List.of(), ranges(1), 53, false)))
        .isPositive();
    assertThat(table.add(ranges(1).getFirst())).doesNotContain("add rule");
  }

  @Test
  void datagramsWithoutMembersAreRejected() {
    Endpoint endpoint =
        new Endpoint(
            new Endpoint.Key(Transport.UDP, false, 53),
            new ServiceKey("shop", "names"),
            "dns",
            5353,
            Endpoint.Forwarding.KERNEL,
            List.of());
    assertThat(table.change(Map.of(), Map.of(endpoint.key(), endpoint), false))
        .contains("add element ip t udp_any_ports { 53 }");
    assertThat(table.change(Map.of(endpoint.key(), endpoint), Map.of(), false))
        .contains("delete element ip t udp_any_ports { 53 }");
    assertThat(table.whole(List.of(endpoint), List.of(), 53, false))
        .contains("udp dport @udp_any_ports reject", "udp_any_ports { 53 }");
  }

  private static long rules(String script) {
    return script
        .lines()
        .filter(line -> line.contains(" ip daddr ") || line.contains("oifname"))
        .count();
  }

  private static List<Range> ranges(int count) {
    return IntStream.range(0, count)
        .mapToObj(
            number ->
                new Range(
                    "b" + number,
                    InetAddress.ofLiteral("10.0." + number + ".0"),
                    24,
                    InetAddress.ofLiteral("10.0." + number + ".1")))
        .toList();
  }
}

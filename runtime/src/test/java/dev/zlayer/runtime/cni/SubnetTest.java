package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SubnetTest {
  @Test
  void isPrintedAsItIsParsed() {
    assertThat(Subnet.parse("10.89.0.0/16")).hasToString("10.89.0.0/16");
    assertThat(Subnet.parse("192.168.255.128/25")).hasToString("192.168.255.128/25");
    assertThat(Subnet.parse("0.0.0.0/0")).hasToString("0.0.0.0/0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.89.0.0", "10.89.0.1/16", "10.89.0/16", "256.0.0.0/8", "1.0.0.0/33"})
  void refusesWhatIsNoNetwork(String text) {
    assertThatThrownBy(() -> Subnet.parse(text)).isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void overlapIsMutual() {
    Subnet wide = Subnet.parse("10.89.0.0/16");
    Subnet part = Subnet.parse("10.89.200.0/24");
    Subnet beside = Subnet.parse("10.90.0.0/16");
    assertThat(wide.overlaps(part)).isTrue();
    assertThat(part.overlaps(wide)).isTrue();
    assertThat(beside.overlaps(wide)).isFalse();
  }

  @Test
  void knowsItsAddresses() {
    Subnet subnet = Subnet.parse("200.1.2.0/24");
    assertThat(subnet.contains(InetAddress.ofLiteral("200.1.2.255"))).isTrue();
    assertThat(subnet.contains(InetAddress.ofLiteral("200.1.3.0"))).isFalse();
    assertThat(subnet.contains(InetAddress.ofLiteral("::1"))).isFalse();
  }

  @Test
  void findsTheFirstPartThatNothingTouches() {
    Subnet range = Subnet.parse("10.89.0.0/22");
    assertThat(range.free(24, List.of())).contains(Subnet.parse("10.89.0.0/24"));
    assertThat(range.free(24, List.of(Subnet.parse("10.89.0.0/25"), Subnet.parse("10.89.1.7/32"))))
        .contains(Subnet.parse("10.89.2.0/24"));
    assertThat(range.free(24, List.of(Subnet.parse("10.0.0.0/8")))).isEmpty();
  }
}

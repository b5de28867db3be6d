package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class StationTest {
  @Test
  void theLocalAddressIsThatOfTheKernel() {
    InetAddress own = InetAddress.ofLiteral("fd12::2");
    var station =
        new Station(InetAddress.ofLiteral("10.0.0.2"), Optional.of(own), "0a:58:c0:A8:01:02");
    assertThat(station.allIpv6())
        .containsExactly(InetAddress.ofLiteral("fe80::858:c0ff:fea8:102"), own);
    assertThat(new NetworkTables("t").stations("add", Map.of("veth0", station)))
        .contains("targets { \"veth0\" . 0xfe800000000000000858c0fffea80102, \"veth0\" . 0xfd12");
  }
}

package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import org.junit.jupiter.api.Test;

class StationTest {
  @Test
  void theLocalAddressIsThatOfTheKernel() {
    var station = new Station(InetAddress.ofLiteral("10.0.0.2"), "0a:58:c0:A8:01:02");
    assertThat(station.linkLocal()).isEqualTo(InetAddress.ofLiteral("fe80::858:c0ff:fea8:102"));
    assertThat(station.linkLocalDigits()).isEqualTo("fe800000000000000858c0fffea80102");
  }
}

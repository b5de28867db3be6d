package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

class RoutesTest {
  @Test
  void readsDestinationAndMaskFromTheKernelsColumns() {
    assumeTrue(ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN, "the sample is little endian");
    List<Routes.Route> routes =
        Routes.parse(
            List.of(
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow",
                "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0   ",
                "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0   ",
                "tun0\t0000590A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0   "));
    assertThat(routes)
        .containsExactly(
            new Routes.Route("eth0", 0, 0),
            new Routes.Route("eth0", 0xC0000200, 24),
            new Routes.Route("tun0", 0x0A590000, 16));
  }

  @Test
  void skipsLinesThatAreCutShort() {
    assertThat(Routes.parse(List.of("header", "eth0 00000000"))).isEmpty();
  }
}

package dev.zlayer.runtime.oci.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class EtcFilesTest {
  private static final String HOST = "nameserver 127.0.0.53\nnameserver 192.0.2.1\nsearch lan\n";

  @Test
  void serversOnTheHostsLoopbackAreOfNoUseElsewhere() {
    assertThat(EtcFiles.resolvConf(NetworkSpec.DEFAULT, HOST, Optional.empty()))
        .isEqualTo("nameserver 192.0.2.1\nsearch lan\n");
    assertThat(
            EtcFiles.resolvConf(
                NetworkSpec.of(new NetworkSpec.Mode.Host()), HOST, Optional.empty()))
        .contains("nameserver 127.0.0.53");
  }

  @Test
  void ourServerIsUsedOnNamedNetworksAndWhereThereIsNoOther() {
    Optional<InetAddress> ours = Optional.of(InetAddress.ofLiteral("10.0.0.1"));
    NetworkSpec named = NetworkSpec.of(new NetworkSpec.Mode.Bridge(Optional.of("n")));
    String loopbackOnly = "nameserver 127.0.0.53\n";

    assertThat(EtcFiles.resolvConf(named, HOST, ours))
        .startsWith("nameserver 10.0.0.1\n")
        .doesNotContain("192.0.2.1");
    assertThat(EtcFiles.resolvConf(NetworkSpec.DEFAULT, HOST, ours)).doesNotContain("10.0.0.1");
    assertThat(EtcFiles.resolvConf(NetworkSpec.DEFAULT, loopbackOnly, ours))
        .startsWith("nameserver 10.0.0.1\n");
    assertThat(EtcFiles.reachable(loopbackOnly)).isFalse();
    assertThat(EtcFiles.reachable(HOST)).isTrue();
  }

  @Test
  void replicasAreFoundByTheirShortNames() {
    var network =
        new NetworkSpec(
            new NetworkSpec.Mode.Bridge(Optional.of("n")),
            Optional.empty(),
            List.of(),
            List.of(InetAddress.ofLiteral("10.0.0.1")),
            List.of("shop.zlayer.internal"),
            Map.of());
    assertThat(EtcFiles.resolvConf(network, "options ndots:1\n", Optional.empty()))
        .endsWith("options ndots:1\noptions ndots:3\n");
    assertThat(EtcFiles.resolvConf(NetworkSpec.DEFAULT, HOST, Optional.empty()))
        .doesNotContain("ndots");
  }

  @Test
  void theHostGatewayIsKnownOnABridgeOnly() {
    var network =
        new NetworkSpec(
            new NetworkSpec.Mode.None(),
            Optional.empty(),
            List.of(),
            List.of(),
            List.of(),
            Map.of("h", "host-gateway"));
    assertThatThrownBy(() -> EtcFiles.hosts(network, "box", Optional.empty(), Optional.empty()))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThat(
            EtcFiles.hosts(
                network,
                "box",
                Optional.of(InetAddress.ofLiteral("10.0.0.2")),
                Optional.of(InetAddress.ofLiteral("10.0.0.1"))))
        .contains("10.0.0.1\th\n", "10.0.0.2\tbox\n");
  }

  @Test
  void linesCannotBeSmuggledIn() {
    for (Map<String, String> bad :
        List.of(Map.of("a b", "10.0.0.1"), Map.of("a", "10.0.0.1\n10.0.0.2 b"))) {
      var network =
          new NetworkSpec(
              new NetworkSpec.Mode.None(), Optional.empty(), List.of(), List.of(), List.of(), bad);
      assertThatThrownBy(() -> EtcFiles.hosts(network, "x", Optional.empty(), Optional.empty()))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }
}

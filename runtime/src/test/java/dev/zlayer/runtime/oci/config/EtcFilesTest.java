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
    assertThat(EtcFiles.resolvConf(NetworkSpec.DEFAULT, HOST))
        .isEqualTo("nameserver 192.0.2.1\nsearch lan\n");
    assertThat(EtcFiles.resolvConf(NetworkSpec.of(new NetworkSpec.Mode.Host()), HOST))
        .contains("nameserver 127.0.0.53");
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

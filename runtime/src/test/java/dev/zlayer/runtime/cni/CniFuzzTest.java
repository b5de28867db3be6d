package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.fuzz.Fuzzer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What network plugins print, damaged: it is understood, or the network failed. */
class CniFuzzTest {
  private static final List<String> WORDS =
      List.of(
          "{",
          "}",
          "[",
          "]",
          "null",
          "true",
          "-1",
          "1e999",
          "\"",
          "\\u0000",
          "10.0.0.2/24",
          "10.0.0.2",
          "/",
          "fe80::1%eth0",
          "::1/128",
          "\"ips\":",
          "\"address\":\"\"",
          "\"gateway\":5",
          "\"interfaces\":{}",
          "\"sandbox\":null");

  private static final String BRIDGE =
      """
      {"cniVersion":"1.0.0",
       "interfaces":[{"name":"zl-br0","mac":"0a:58:0a:00:00:01"},{"name":"veth1","mac":"x"},
                     {"name":"eth0","mac":"y","sandbox":"/run/netns/a"}],
       "ips":[{"interface":2,"address":"10.5.0.2/24","gateway":"10.5.0.1"}],
       "routes":[{"dst":"0.0.0.0/0"}],"dns":{}}
      """;

  private static final String NONE = "{\"cniVersion\":\"1.0.0\"}";

  @Test
  void resultsAreUnderstoodOrTheNetworkFailed() {
    Json plugin = Json.object().put("type", "bridge").put("bridge", "zl-br0").build();
    new Fuzzer(
            "fuzz/cni",
            8_000,
            List.of(Fuzzer.utf8(BRIDGE), Fuzzer.utf8(NONE)),
            WORDS,
            AgentException.Network.class::isInstance,
            input -> {
              Json result = Cni.result(plugin, new CommandResult(0, input, new byte[0]));
              var slot =
                  new PreparedNamespace(
                      "a",
                      Optional.empty(),
                      Path.of("/run/netns/a"),
                      List.of(plugin),
                      result,
                      List.of());
              assertThat(slot.attachment().netns()).isEqualTo(slot.netns());
              assertThat(slot.hostLink()).isNotEqualTo(Optional.of("zl-br0"));
              assertThat(PreparedNamespace.parse(slot.json(), Path.of("a"))).contains(slot);
            })
        .run();
  }
}

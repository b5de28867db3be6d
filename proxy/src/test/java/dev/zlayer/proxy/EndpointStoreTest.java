package dev.zlayer.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.spec.value.Transport;
import dev.zlayer.testkit.FrozenFormat;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EndpointStoreTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final Range RANGE =
      new Range("zl1", InetAddress.ofLiteral("10.1.0.0"), 24, InetAddress.ofLiteral("10.1.0.1"));

  @TempDir Path directory;
  private EndpointStore store;

  @BeforeEach
  void open() {
    store = new EndpointStore(directory);
  }

  private static List<Endpoint> endpoints() {
    var all = new ArrayList<Endpoint>();
    int port = 8000;
    for (Endpoint.Forwarding forwarding : Endpoint.Forwarding.values()) {
      for (Transport transport : Transport.values()) {
        all.add(
            new Endpoint(
                new Endpoint.Key(transport, port % 2 == 0, port++),
                WEB,
                "http",
                80,
                forwarding,
                List.of(InetAddress.ofLiteral("10.1.0.2"))));
      }
    }
    return all;
  }

  private Path only(String prefix) throws Exception {
    try (var files = Files.list(directory)) {
      return files
          .filter(file -> file.getFileName().toString().startsWith(prefix))
          .findFirst()
          .orElseThrow();
    }
  }

  @Test
  void everythingIsStoredAsItWas() throws Exception {
    store.save(WEB, endpoints());
    store.save("shop", RANGE);
    store.save(5353);
    for (String kind : List.of("service", "network", "nameserver")) {
      FrozenFormat.check(
          "endpoint-%s-v2.json".formatted(kind), JsonText.parse(Files.readAllBytes(only(kind))));
      Files.write(only(kind), FrozenFormat.read("endpoint-%s-v2.json".formatted(kind)));
    }
    assertThat(store.load())
        .isEqualTo(new EndpointStore.State(endpoints(), Map.of("shop", RANGE), 5353));
  }

  @Test
  void aFileThatCannotBeReadCostsOnlyItsOwnService() throws Exception {
    store.save(WEB, endpoints());
    var api = new ServiceKey("shop", "api");
    for (String damage : List.of("", "\0\0", "[]", "{}", "{\"version\":99}", "{\"version\":2}")) {
      store.save(api, endpoints().subList(0, 1));
      Path file = only("service-api");
      Files.writeString(file, damage);
      assertThat(store.load().endpoints()).as(damage).isEqualTo(endpoints());
      assertThat(file).as(damage).hasContent(damage);
    }
  }
}

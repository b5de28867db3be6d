package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.FrozenFormat;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is stored of networks stays as the frozen examples are. */
class StoredNetworkTest {
  @TempDir Path directory;

  @Test
  void aNetworkIsStoredAsItWas() throws Exception {
    var network = new NamedNetwork("default", "zl0", Subnet.parse("10.88.0.0/16"));
    FrozenFormat.check("network-v1.json", NetworkStore.json(network));
    Path file = directory.resolve("default.json");
    Files.write(file, FrozenFormat.read("network-v1.json"));
    assertThat(NetworkStore.read(file)).isEqualTo(network);
  }

  @Test
  void aNetworkOfALaterVersionIsRefusedByName() throws Exception {
    Path file = directory.resolve("default.json");
    Files.writeString(file, "{\"version\":9}");
    assertThatThrownBy(() -> NetworkStore.read(file))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(file + " has version 9");
  }

  @Test
  void aNamespaceIsStoredAsItWas() {
    var namespace =
        new PreparedNamespace(
            "zl-1",
            Optional.of("default"),
            Path.of("/run/netns/zl-1"),
            List.of(Json.object().put("type", "bridge").build()),
            Json.object().put("cniVersion", "0.4.0").build(),
            List.of(new PortBinding(InetAddress.ofLiteral("0.0.0.0"), 8080, 80, Protocol.UDP)));
    FrozenFormat.check("namespace-v1.json", namespace.json());
    assertThat(
            PreparedNamespace.parse(
                JsonText.parse(FrozenFormat.read("namespace-v1.json")), directory))
        .contains(namespace);
  }

  @Test
  void aNamespaceOfALaterVersionCanStillBeTakenDown() {
    Json later =
        JsonText.parse("{\"version\":9,\"id\":\"zl-1\",\"netns\":\"/run/netns/zl-1\",\"new\":1}");
    assertThat(PreparedNamespace.parse(later, directory))
        .contains(PreparedNamespace.bare("zl-1", Path.of("/run/netns/zl-1")));
  }

  @Test
  void anAddressThatIsGivenBackBetweenListingAndReadingIsNoError() throws Exception {
    Path network = Files.createDirectories(directory.resolve("default"));
    Files.writeString(network.resolve("10.88.0.2"), "zl-1\neth0\n");
    // a name that is listed and cannot be read any more, as after an unlink by a plugin
    Files.createSymbolicLink(network.resolve("10.88.0.3"), network.resolve("removed"));
    Files.write(network.resolve("10.88.0.4"), new byte[] {(byte) 0xff, 0, (byte) 0xfe});
    Files.write(network.resolve("10.88.0.5"), new byte[0]);
    var addresses = new Addresses(directory);

    assertThat(addresses.given())
        .extracting(Addresses.Given::ip)
        .containsExactly("10.88.0.2", "10.88.0.4", "10.88.0.5");
    assertThat(addresses.strays(Set.of("zl-1")))
        .extracting(Addresses.Given::ip)
        .containsExactly("10.88.0.4", "10.88.0.5");
  }
}

package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.zlayer.container.ContainerDetails.PortBinding;
import dev.zlayer.container.NetworkSpec.Protocol;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.cni.PreparedNamespaceStore.Found;
import dev.zlayer.runtime.cni.PreparedNamespaceStore.Phase;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PreparedNamespaceStoreTest {
  private static final Json RESULT =
      JsonText.parse(
          """
          {"cniVersion": "1.0.0",
           "interfaces": [{"name": "zt0"}, {"name": "veth1"}, {"name": "eth0", "sandbox": "/n"}],
           "ips": [{"interface": 2, "address": "10.1.2.3/24", "gateway": "10.1.2.1"}]}
          """);

  @TempDir Path directory;
  private NetworkConfig config;
  private PreparedNamespaceStore store;
  private PreparedNamespace slot;

  @BeforeEach
  void open() throws IOException {
    config = NetworkConfig.of(directory.resolve("run"), directory.resolve("state"));
    store = PreparedNamespaceStore.open(config);
    slot =
        new PreparedNamespace(
            "id",
            Optional.of("default"),
            config.namespaces().resolve("id"),
            List.of(Json.object().put("type", "bridge").put("bridge", "zt0").build()),
            Json.Null.INSTANCE,
            List.of());
  }

  @Test
  void aSlotIsInOnePhaseAtATimeAndKeepsAllItsFacts() throws IOException {
    store.begin(slot);
    assertThat(store.load()).containsExactly(found(Phase.MAKING, "id", slot));

    PreparedNamespace ready = slot.withResult(RESULT);
    store.ready(ready);
    assertThat(store.load()).containsExactly(found(Phase.READY, "id", ready));

    PreparedNamespace mine =
        ready.withPorts(
            List.of(new PortBinding(InetAddress.ofLiteral("127.0.0.1"), 80, 81, Protocol.UDP)));
    store.hold(mine, "web.1");
    assertThat(store.load()).containsExactly(found(Phase.HELD, "web.1", mine));

    store.leave(Phase.HELD, "web.1", mine);
    assertThat(store.load()).containsExactly(found(Phase.LEAVING, "id", mine));

    store.forget(mine);
    assertThat(store.load()).isEmpty();
  }

  private static Found found(Phase phase, String key, PreparedNamespace slot) {
    return new Found(phase, key, slot, Optional.empty());
  }

  @Test
  void aHeldOneIsKnownByItsContainerAndItsIdWhateverItsRecordSays() throws IOException {
    store.begin(slot);
    store.ready(slot);
    store.hold(slot, "web.1");
    Path record = config.attachments().resolve("held/web.1@id.json");
    for (String content : List.of("", "\0{{", "[]", "{\"id\":7}", "{\"version\":9}")) {
      Files.writeString(record, content);
      Found damaged = store.load().getFirst();
      assertThat(damaged.key()).isEqualTo("web.1");
      assertThat(damaged.slot())
          .isEqualTo(PreparedNamespace.bare("id", config.namespaces().resolve("id")));
      assertThat(damaged.damage()).isPresent();
    }
    store.leave(Phase.HELD, "web.1", store.load().getFirst().slot());
    assertThat(store.load())
        .extracting(Found::phase, Found::key)
        .containsExactly(tuple(Phase.LEAVING, "id"));
  }

  @Test
  void whatEarlierVersionsHeldIsFoundByItsContainerAlone() throws IOException {
    store.begin(slot);
    store.ready(slot);
    Files.move(
        config.attachments().resolve("ready/id.json"),
        config.attachments().resolve("held/web.1.json"));
    assertThat(store.load()).containsExactly(found(Phase.HELD, "web.1", slot));
    store.leave(Phase.HELD, "web.1", slot);
    assertThat(store.load()).containsExactly(found(Phase.LEAVING, "id", slot));
  }

  @Test
  void theResultTellsAddressGatewayAndCable() {
    PreparedNamespace ready = slot.withResult(RESULT);
    assertThat(ready.ip()).contains(InetAddress.ofLiteral("10.1.2.3"));
    assertThat(ready.gateway()).contains(InetAddress.ofLiteral("10.1.2.1"));
    assertThat(ready.hostLink()).contains("veth1");
    assertThat(slot.ip()).isEmpty();
    assertThat(slot.hostLink()).isEmpty();
  }

  @Test
  void aTornRecordStandsForItsNamespaceAlone() throws IOException {
    Files.writeString(config.attachments().resolve("making/id.json"), "{\"versi");
    Files.writeString(config.attachments().resolve("ready/future.json"), "{\"version\":9}");

    assertThat(store.load())
        .extracting(Found::slot)
        .containsExactly(
            PreparedNamespace.bare("id", config.namespaces().resolve("id")),
            PreparedNamespace.bare("future", config.namespaces().resolve("future")));
  }

  @Test
  void halfWrittenFilesAreRemovedByOpening() throws IOException {
    Path half = Files.writeString(config.attachments().resolve("held/x.json.tmp"), "{");
    PreparedNamespaceStore.open(config);
    assertThat(half).doesNotExist();
  }

  @Test
  void aRecordThatVanishedIsAFaultOfOurs() {
    assertThatThrownBy(() -> store.hold(slot, "web"))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("id.json");
  }
}

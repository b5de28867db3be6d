package dev.zlayer.engine.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.FrozenFormat;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What is stored of services stays as the frozen examples are. */
class StoredServiceTest {
  private static final Instant NOW = Instant.parse("2024-05-06T07:08:09Z");
  private static final Failure FAILURE =
      new Failure(
          "StartFailed", Blame.WORKLOAD, "it failed", OptionalInt.of(3), List.of("last"), NOW);

  @Test
  void aServiceIsStoredAsItWas() {
    var slots = new TreeMap<ReplicaId, ReplicaRecord>();
    int number = 1;
    for (ReplicaRecord.Halt halt : ReplicaRecord.Halt.values()) {
      slots.put(
          ReplicaId.parse("web/" + number++),
          new ReplicaRecord(1, 2, Optional.of(NOW), halt, Optional.of(FAILURE)));
    }
    var record =
        new ServiceRecord(
            new ServiceKey("shop", "web"),
            4,
            Optional.of(3L),
            Optional.of(FAILURE),
            true,
            Optional.of(FAILURE),
            Optional.of(2),
            true,
            Optional.of(1),
            5,
            6,
            new TreeMap<>(Map.of(4L, "sha256:abc")),
            slots);
    String name = "service-v%d.json".formatted(ServiceCodec.FORMAT.version());
    FrozenFormat.check(name, JsonText.parse(ServiceCodec.write(record)));
    assertThat(ServiceCodec.read(FrozenFormat.read(name))).isEqualTo(record);
    assertThat(ServiceCodec.read(FrozenFormat.read("service-v1.json")))
        .as("version 1 was never idle")
        .isEqualTo(record.requested().proved(3));
    assertThat(ServiceCodec.read(FrozenFormat.read("service-v2.json")))
        .as("version 2 had no steps")
        .isEqualTo(record.proved(3));
  }

  @Test
  void endedReplicasAreStoredAsTheyWere() {
    var ended = new EndedReplica("shop/web/1", "web", 1, NOW, "exited (3)", List.of("a", "b"));
    FrozenFormat.check("ended-replicas-v1.json", RecordJson.write(List.of(ended)));
    FrozenFormat.check("ended-replicas-v2.json", EndedReplica.json(List.of(ended)));
    for (int version = 1; version <= EndedReplica.FORMAT.version(); version++) {
      Json stored = JsonText.parse(FrozenFormat.read("ended-replicas-v%d.json".formatted(version)));
      assertThat(EndedReplica.parse(stored)).containsExactly(ended);
    }
  }

  /** A hash that changes without need would replace every container when the agent is updated. */
  @Test
  void theHashOfASpecStaysTheSame() {
    var spec =
        ContainerSpec.of(ImageRef.parse("alpine:3"))
            .withLabels(Map.of("a", "b"))
            .withFileSystem(FileSystemSpec.of(new Mount.Named("data", "/data", false)));
    FrozenFormat.check("spec-hash.txt", SpecHash.of("salt", spec) + "\n");
  }
}

package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.Quarantine;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Blame;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.FrozenFormat;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** What is stored of deployments stays as the frozen examples are. */
class StoredDeploymentTest {
  private static final Instant NOW = Instant.parse("2024-05-06T07:08:09Z");
  private static final Revision REVISION =
      new Revision("shop", 7, NOW, "up", Path.of("/srv/shop"), "services: {}\n");

  private static void put(StateStore store, String kind, String key, byte[] value) {
    store.commit(Change.of(new Change.Put(kind, key, value)));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void aDeploymentIsStoredAsItWas() {
    var record = new DeploymentRecord("shop", NOW, NOW, 7, true, true);
    FrozenFormat.check("deployment-v1.json", JsonText.parse(record.write()));
    assertThat(DeploymentRecord.read(FrozenFormat.read("deployment-v1.json"))).isEqualTo(record);
  }

  @Test
  void aRevisionIsStoredAsItWas() {
    FrozenFormat.check("revision-v1.json", JsonText.parse(DeploymentRecord.write(REVISION)));
    assertThat(DeploymentRecord.readRevision(FrozenFormat.read("revision-v1.json")))
        .isEqualTo(REVISION);
  }

  @Test
  void aJobThatOthersWaitForIsStoredAsItWas() {
    var job = new JobKey("shop", "migrate");
    var record =
        new DependencyJobRecord(
            job,
            List.of("abc"),
            Optional.of(new ExecutionId("01hx00000000000000000000")),
            Optional.of(
                new DependencyJobRecord.FailedRun(
                    "def",
                    new Failure(
                        "StartFailed",
                        Blame.WORKLOAD,
                        "it failed",
                        OptionalInt.of(3),
                        List.of("last"),
                        NOW))));
    FrozenFormat.check("dependency-job-v1.json", JsonText.parse(record.put().value()));
    assertThat(DependencyJobRecord.read(job, FrozenFormat.read("dependency-job-v1.json")))
        .isEqualTo(record);
  }

  @Test
  void aDamagedRecordIsMadeAgainFromTheNewestRevision() {
    try (var store = new MemoryStateStore()) {
      put(store, DeploymentRecord.KIND, "shop", bytes("\0garbage"));
      put(
          store,
          DeploymentRecord.REVISIONS,
          DeploymentRecord.revisionKey("shop", 7),
          DeploymentRecord.write(REVISION));
      put(
          store,
          DeploymentRecord.REVISIONS,
          DeploymentRecord.revisionKey("shop", 8),
          bytes("\0garbage"));
      var deployments = DeploymentStore.open(store, NOW);
      assertThat(deployments.record("shop").orElseThrow().revision()).isEqualTo(7);
      assertThat(deployments.revisions("shop")).containsExactly(REVISION);
      assertThat(Quarantine.all(store)).containsExactly("deployment/shop");
    }
  }

  @Test
  void whatALaterProgramWroteIsLeftAlone() {
    try (var store = new MemoryStateStore()) {
      byte[] later = bytes("{\"version\":99,\"name\":\"shop\"}");
      put(store, DeploymentRecord.KIND, "shop", later);
      var deployments = DeploymentStore.open(store, NOW);
      assertThat(deployments.names()).isEmpty();
      assertThat(deployments.later().get("shop")).contains("state.db has version 99");
      assertThatThrownBy(() -> deployments.requireReadable("shop"))
          .isInstanceOf(AgentException.Conflict.class)
          .hasMessageContaining("version 99");
      assertThat(store.find(DeploymentRecord.KIND, "shop")).hasValue(later);
    }
  }

  @Test
  void aRecordThatCouldNotBeReadIsPutBackByAProgramThatCanReadIt() {
    try (var store = new MemoryStateStore()) {
      put(store, "thing", "a", bytes("later"));
      assertThat(
              Quarantine.<String>read(
                  store,
                  "thing",
                  _ -> {
                    throw new AgentException.Configuration("version 99");
                  },
                  NOW))
          .isEmpty();
      assertThat(store.find("thing", "a")).isEmpty();
      assertThat(
              Quarantine.read(
                  store, "thing", bytes -> new String(bytes, StandardCharsets.UTF_8), NOW))
          .containsExactly("later");
      assertThat(store.find("thing", "a")).isPresent();
      assertThat(Quarantine.all(store)).isEmpty();
    }
  }
}

package dev.zlayer.runtime.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** From our words to the engine's and back, without an engine. */
class DockerWordsTest {
  private static final ContainerSpec SPEC = ContainerSpec.of(ImageRef.parse("app:1"));

  @Test
  void identityAndSpecComeBackFromLabels() {
    var id = new ContainerId("shop", "web = x", "blue", 3, 7);
    ContainerSpec spec = SPEC.withLabels(Map.of("team", "späti\n", "com.zlayer.agent", "forged"));
    Map<String, String> labels = DockerLabels.of("agent", id, spec);
    assertThat(labels).containsEntry("com.zlayer.agent", "agent").containsEntry("team", "späti\n");
    assertThat(DockerLabels.id(labels)).isEqualTo(id);
    assertThat(DockerLabels.spec(labels, "x", "app:1")).isEqualTo(spec);
  }

  @Test
  void aSpecOfALaterVersionIsKnownByItsImageAndLabels() {
    var id = new ContainerId("shop", "web", "blue", 3, 7);
    var labels = new HashMap<>(DockerLabels.of("agent", id, SPEC));
    labels.put("com.zlayer.spec-version", "99");
    assertThat(DockerLabels.id(labels)).isEqualTo(id);
    assertThat(DockerLabels.spec(labels, "x", "app:1")).isEqualTo(SPEC.withLabels(labels));
    labels.remove("com.zlayer.spec-version");
    assertThat(DockerLabels.spec(labels, "x", "app:1")).as("of before versions").isEqualTo(SPEC);
    labels.put("com.zlayer.spec", "garbage");
    assertThat(DockerLabels.spec(labels, "x", "sha256:odd name").image().path())
        .contains("unknown");
  }

  @Test
  void statesAreToldApart() {
    assertThat(state("created", 0, "", false)).isEqualTo(new ContainerStatus.Created());
    assertThat(state("running", 0, "", false)).isInstanceOf(ContainerStatus.Running.class);
    assertThat(state("paused", 0, "", false)).isInstanceOf(ContainerStatus.Paused.class);
    assertThat(state("odd", 0, "", false)).isInstanceOf(ContainerStatus.Unknown.class);
    assertThat(exit("exited", 3, "", false)).isEqualTo(new ExitStatus.Code(3));
    assertThat(exit("exited", 137, "", false)).isEqualTo(new ExitStatus.Signalled(Signal.KILL));
    assertThat(exit("exited", 137, "", true)).isEqualTo(new ExitStatus.OutOfMemory());
    assertThat(exit("exited", 1, "", true))
        .as("a child died of it")
        .isEqualTo(new ExitStatus.Code(1));
    assertThat(exit("created", 127, "no such program", false))
        .isEqualTo(new ExitStatus.RuntimeError("no such program"));
    assertThat(exit("exited", 255, "", false)).isEqualTo(new ExitStatus.Code(255));
  }

  /** The engine notes both by itself; a short run would seem to end before it began. */
  @Test
  void anEndIsNeverBeforeItsBeginning() {
    var outcome = inspection("exited", 0, "", false).outcome();
    assertThat(outcome.finishedAt().orElseThrow()).isEqualTo(outcome.startedAt().orElseThrow());
  }

  @Test
  void modesOfFilesAreTheKernels() {
    assertThat(DockerContainerFiles.mode(0644)).isEqualTo(0100644);
    assertThat(DockerContainerFiles.mode(1 << 31 | 1 << 20 | 0777)).isEqualTo(0041777);
    assertThat(DockerContainerFiles.mode(1 << 27 | 0777)).isEqualTo(0120777);
    assertThat(DockerContainerFiles.mode(1 << 26 | 1 << 21 | 0666)).isEqualTo(0020666);
    assertThat(DockerContainerFiles.mode(1 << 26 | 0660)).isEqualTo(0060660);
    assertThat(DockerContainerFiles.mode(1 << 23 | 0755)).isEqualTo(0104755);
  }

  @Test
  void aNewMemoryLimitTakesSwapWithIt() {
    Json body = LimitsSection.update(Resources.DEFAULT, Resources.DEFAULT.withMemory(1 << 20));
    assertThat(body.at("Memory").integer()).contains(1L << 20);
    assertThat(body.at("MemorySwap").integer()).contains(2L << 20);
  }

  @Test
  void gpusThatTheEngineCannotGiveAreRefused() {
    var body = new CreateBody(ContainerId::toString);
    var shared =
        new GpuRequest(
            1,
            "nvidia",
            Optional.empty(),
            new GpuRequest.Sharing.TimeSlice(
                java.util.OptionalInt.empty(), Optional.empty(), Optional.empty()));
    assertThatThrownBy(() -> body.of(SPEC.withGpu(shared), Map.of()))
        .isInstanceOf(AgentException.GpuSharingUnavailable.class);
    var amd = new GpuRequest(1, "amd", Optional.empty(), new GpuRequest.Sharing.Exclusive());
    assertThatThrownBy(() -> body.of(SPEC.withGpu(amd), Map.of()))
        .isInstanceOf(AgentException.Unsupported.class);
  }

  private static ContainerStatus state(String status, int code, String error, boolean memory) {
    return inspection(status, code, error, memory).status();
  }

  private static ExitStatus exit(String status, int code, String error, boolean memory) {
    return ((ContainerStatus.Exited) state(status, code, error, memory)).outcome().status();
  }

  private static Inspection inspection(String status, int code, String error, boolean memory) {
    return new Inspection(
        JsonText.parse(
            """
            {"State": {"Status": "%s", "ExitCode": %d, "Error": "%s", "OOMKilled": %s, "Pid": 7,
             "StartedAt": "2026-01-02T03:04:05.5Z", "FinishedAt": "2026-01-02T03:04:05.4Z"}}
            """
                .formatted(status, code, error, memory)));
  }
}

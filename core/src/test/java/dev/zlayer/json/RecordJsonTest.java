package dev.zlayer.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class RecordJsonTest {
  @Test
  void aSpecComesBackAsItWas() {
    var spec =
        ContainerSpec.of(ImageRef.parse("alpine"))
            .withProcess(
                ProcessSpec.DEFAULT.withArgs("a", "").withEnv(Map.of("K", "v\n\"")).withInit(true))
            .withFileSystem(
                FileSystemSpec.of(
                    new Mount.Bind(Path.of("/x"), "/y", true),
                    new Mount.Tmpfs("/t", OptionalLong.of(5), OptionalInt.empty())))
            .withNetwork(
                new NetworkSpec(
                    new NetworkSpec.Mode.Bridge(Optional.of("n")),
                    Optional.of("h"),
                    List.of(
                        new NetworkSpec.Port(
                            OptionalInt.of(80),
                            8080,
                            NetworkSpec.Protocol.UDP,
                            Optional.of(InetAddress.ofLiteral("127.0.0.1")))),
                    List.of(),
                    List.of(),
                    Map.of()))
            .withGpu(
                new GpuRequest(
                    1,
                    "nvidia",
                    Optional.empty(),
                    new GpuRequest.Sharing.Mps(
                        Optional.of(Path.of("/p")),
                        Optional.of(Path.of("/l")),
                        OptionalLong.of(1 << 30),
                        OptionalInt.of(25))));
    Json json = JsonText.parse(JsonText.print(RecordJson.write(spec)));
    assertThat(RecordJson.read(json, ContainerSpec.class)).isEqualTo(spec);
  }

  @Test
  void whatDoesNotFitIsNamed() {
    assertThatThrownBy(() -> RecordJson.read(JsonText.parse("{\"image\": 3}"), ContainerSpec.class))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("ContainerSpec.image");
  }

  private record Typed(Instant at, Duration lasts, InetAddress where, int many) {}

  @Test
  void aTextOfAnotherFormIsNamedAsWell() {
    var right = new Typed(Instant.EPOCH, Duration.ZERO, InetAddress.ofLiteral("192.0.2.1"), 1);
    String text = JsonText.print(RecordJson.write(right));
    assertThat(RecordJson.read(JsonText.parse(text), Typed.class)).isEqualTo(right);
    Map.of(
            "1970-01-01T00:00:00Z", "yesterday",
            "PT0S", "long",
            "192.0.2.1", "here",
            "1}", "99999999999}")
        .forEach(
            (good, bad) ->
                assertThatThrownBy(
                        () -> RecordJson.read(JsonText.parse(text.replace(good, bad)), Typed.class))
                    .isInstanceOf(AgentException.InvalidSpec.class)
                    .hasMessageContaining("Typed."));
  }
}

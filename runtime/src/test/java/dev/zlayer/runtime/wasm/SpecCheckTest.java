package dev.zlayer.runtime.wasm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.ImageDetails;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class SpecCheckTest {
  private static final ContainerSpec USUAL = ContainerSpec.of(ImageRef.parse("demo/tool:1"));
  private static final ImageDetails.RunConfig NOTHING = run(List.of(), List.of());

  @Test
  void whatEveryContainerIsGivenIsAccepted() {
    SpecCheck.check(USUAL);
    SpecCheck.check(USUAL.withNetwork(NetworkSpec.NONE));
    var bridge = new NetworkSpec.Mode.Bridge(Optional.of("deployment"));
    SpecCheck.check(
        USUAL.withNetwork(
            new NetworkSpec(
                bridge,
                Optional.empty(),
                List.of(),
                List.of(InetAddress.getLoopbackAddress()),
                List.of("shop.internal"),
                Map.of())));
    SpecCheck.check(USUAL.withResources(Resources.DEFAULT.withMemory(1 << 20).withPids(3)));
    SpecCheck.check(USUAL.withProcess(ProcessSpec.DEFAULT.withStdin(true).withWorkdir("/")));
  }

  @Test
  void whatAModuleCannotHaveIsRefused() {
    var port =
        new NetworkSpec.Port(OptionalInt.of(80), 80, NetworkSpec.Protocol.TCP, Optional.empty());
    var shared = new NetworkSpec.Mode.Shared(ContainerId.of("a", "b", 1));
    List.of(
            USUAL.withNetwork(NetworkSpec.DEFAULT.withPorts(port)),
            USUAL.withNetwork(NetworkSpec.DEFAULT.withHostname("h")),
            USUAL.withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Host())),
            USUAL.withNetwork(NetworkSpec.of(shared)),
            USUAL.withResources(Resources.DEFAULT.withCpus(0.5)),
            USUAL.withProcess(ProcessSpec.DEFAULT.withUser("1000")),
            USUAL.withProcess(ProcessSpec.DEFAULT.withTerminal(true)),
            USUAL.withProcess(ProcessSpec.DEFAULT.withInit(true)),
            USUAL.withProcess(ProcessSpec.DEFAULT.withWorkdir("/srv")),
            USUAL.withGpu(
                new GpuRequest(1, "nvidia", Optional.empty(), new GpuRequest.Sharing.Exclusive())))
        .forEach(
            spec ->
                assertThatThrownBy(() -> SpecCheck.check(spec))
                    .as(spec.toString())
                    .isInstanceOf(AgentException.Unsupported.class)
                    .hasMessageContaining("runtime 'wasm'"));
  }

  @Test
  void wordsAreJoinedAsForPrograms() {
    assertThat(arguments(ProcessSpec.DEFAULT, NOTHING)).containsExactly("tool");
    assertThat(arguments(ProcessSpec.DEFAULT.withArgs("a"), NOTHING)).containsExactly("tool", "a");
    assertThat(arguments(ProcessSpec.DEFAULT.withEntrypoint("x"), NOTHING)).containsExactly("x");
    var image = run(List.of("/t.wasm"), List.of("-v"));
    assertThat(arguments(ProcessSpec.DEFAULT, image)).containsExactly("/t.wasm", "-v");
    assertThat(arguments(ProcessSpec.DEFAULT.withArgs("a"), image)).containsExactly("/t.wasm", "a");
    assertThat(arguments(ProcessSpec.DEFAULT.withEntrypoint("x"), image)).containsExactly("x");
    assertThat(arguments(ProcessSpec.DEFAULT, run(List.of(), List.of("/t.wasm", "b"))))
        .containsExactly("/t.wasm", "b");
  }

  private static List<String> arguments(ProcessSpec process, ImageDetails.RunConfig image) {
    return Invocation.of(process, image, USUAL.image()).arguments();
  }

  private static ImageDetails.RunConfig run(List<String> entrypoint, List<String> command) {
    return new ImageDetails.RunConfig(
        entrypoint,
        command,
        List.of(),
        Optional.empty(),
        Optional.empty(),
        List.of(),
        List.of(),
        Map.of(),
        Optional.empty(),
        dev.zlayer.json.Json.Null.INSTANCE);
  }
}

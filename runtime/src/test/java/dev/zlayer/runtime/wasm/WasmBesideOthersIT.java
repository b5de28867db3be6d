package dev.zlayer.runtime.wasm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.composite.CompositeRuntime;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nobody says which runtime: the image does. */
@Requires(Fact.WABT)
class WasmBesideOthersIT {
  @TempDir Path directory;

  @Test
  void aModuleGoesToItsRuntimeAndStaysThere() throws Exception {
    ContainerId id = WasmStage.id();
    ImageRef image;
    try (var fixture = WasmStage.open(directory)) {
      image = fixture.image("hello", Modules.hello());
      CompositeRuntime composite = composite(fixture);
      Container container = composite.create(id, ContainerSpec.of(image));
      assertThat(container.inspect().runtime()).isEqualTo("wasm");
      container.start();
      assertThat(WasmStage.ended(container).status()).isEqualTo(new ExitStatus.Code(0));
      var windows = ContainerSpec.of(image).withPlatform(Platform.of("windows", "amd64"));
      assertThatThrownBy(() -> composite.create(WasmStage.id(), windows))
          .isInstanceOf(AgentException.RouteToPeer.class);
    }
    try (var fixture = WasmStage.open(directory)) {
      Container found = composite(fixture).find(id).orElseThrow();
      assertThat(WasmStage.ended(found).status()).isEqualTo(new ExitStatus.Code(0));
      assertThat(WasmStage.lines(found)).containsExactly("hello");
      found.start();
      WasmStage.ended(found);
      assertThat(WasmStage.lines(found)).containsExactly("hello", "hello");
      found.remove(false);
      assertThat(composite(fixture).find(id)).isEmpty();
    }
  }

  private static CompositeRuntime composite(WasmStage fixture) {
    var primary = new FakeRuntime(new FakeWorld(InstantSource.system()));
    return CompositeRuntime.open(List.of(primary, fixture.runtime), fixture.dirs.dispatch());
  }
}

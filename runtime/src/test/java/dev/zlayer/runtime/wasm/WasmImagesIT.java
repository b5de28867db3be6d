package dev.zlayer.runtime.wasm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where modules come from, and what is kept of them. */
@Requires(Fact.WABT)
class WasmImagesIT {
  @TempDir Path directory;

  @Test
  void runsArtifactsImagesOfOneModuleAndLocalFiles() throws InterruptedException {
    try (var fixture = WasmStage.open(directory)) {
      byte[] module = Modules.hello();
      TarEntry file = TarEntry.file("app/hello.wasm", module);
      var images =
          new ImageRef[] {
            fixture.image("file", module),
            fixture.load("artifact", ImageMaker.wasm(module)),
            fixture.load(
                "packed",
                ImageMaker.scratch()
                    .platform(Platform.of("wasi", "wasm"))
                    .layer(file)
                    .entrypoint("/app/hello.wasm")
                    .make()),
            fixture.load(
                "annotated",
                ImageMaker.scratch()
                    .annotation("module.wasm.image/variant", "compat")
                    .layer(file)
                    .make())
          };
      for (ImageRef image : images) {
        var info = fixture.store.images().find(image).orElseThrow().info();
        assertThat(info.kind()).isEqualTo(Capabilities.ArtifactKind.WASM_MODULE);
        assertThat(info.platform().filter(fixture.runtime.capabilities()::serves)).isPresent();
        var ended = fixture.run(ContainerSpec.of(image));
        assertThat(ended.outcome().status()).isEqualTo(new ExitStatus.Code(0));
        assertThat(ended.lines()).containsExactly("hello");
      }
      assertThat(fixture.store.check().findings()).isEmpty();
      assertThat(fixture.dirs.layers()).as("nothing is unpacked").isEmptyDirectory();
    }
  }

  @Test
  void namesOfModulesAreBounded() throws Exception {
    try (var fixture = WasmStage.open(directory)) {
      byte[] module = Modules.hello();
      Platform wasm = Platform.of("wasi", "wasm");
      ImageRef deep =
          fixture.load(
              "long",
              ImageMaker.scratch()
                  .platform(wasm)
                  .layer(TarEntry.file("./".repeat(400_000) + "hello.wasm", module))
                  .entrypoint("/hello.wasm")
                  .make());
      assertThat(fixture.store.images().module(deep)).isEqualTo(module);
      // more names than the heap of these tests and of the agent can hold
      var names = new ArrayList<TarEntry>();
      long most = Math.min(256 << 20, Runtime.getRuntime().maxMemory() / 16);
      for (int i = 0; i < most / 900_000 + 1; i++) {
        names.add(TarEntry.file("d".repeat(900_000) + i + ".wasm", ""));
      }
      ImageRef many =
          fixture.load(
              "many",
              ImageMaker.scratch().platform(wasm).layer(names.toArray(TarEntry[]::new)).make());
      assertThatThrownBy(() -> fixture.store.images().module(many))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("its modules are over");
    }
  }

  @Test
  void refusesWhatIsNoCommand() throws InterruptedException {
    try (var fixture = WasmStage.open(directory)) {
      ImageRef library =
          fixture.image("library", WasmMaker.ofText("(module (func (export \"add\")))"));
      var spec = ContainerSpec.of(library);
      assertThatThrownBy(() -> fixture.create(spec))
          .isInstanceOf(AgentException.CreateFailed.class)
          .hasMessageContaining("only commands");
      var component = new byte[] {0, 'a', 's', 'm', 0x0d, 0, 1, 0};
      var newer = ContainerSpec.of(fixture.image("component", component));
      assertThatThrownBy(() -> fixture.create(newer))
          .isInstanceOf(AgentException.CreateFailed.class)
          .hasMessageContaining("preview 2");
      var damaged =
          ContainerSpec.of(
              fixture.image("damaged", new byte[] {0, 'a', 's', 'm', 1, 0, 0, 0, 9, 9}));
      assertThatThrownBy(() -> fixture.create(damaged))
          .isInstanceOf(AgentException.CreateFailed.class);
      var linux =
          ContainerSpec.of(
              fixture.load("linux", ImageMaker.scratch().layer(TarEntry.file("f", "x")).make()));
      assertThatThrownBy(() -> fixture.create(linux))
          .isInstanceOf(AgentException.WrongPlatform.class);
      assertThat(fixture.runtime.list()).isEmpty();
    }
  }

  @Test
  void compiledClassesAreKeptAndADamagedFileIsMadeAgain() throws Exception {
    byte[] module = Modules.hello();
    ImageRef image;
    try (var fixture = WasmStage.open(directory)) {
      image = fixture.image("hello", module);
      assertThat(fixture.run(ContainerSpec.of(image)).lines()).containsExactly("hello");
    }
    Path compiled = only(directory.resolve("wasm/compiled"));
    byte[] classes = Files.readAllBytes(compiled);
    Files.setLastModifiedTime(compiled, FileTime.from(Instant.EPOCH));
    Object key =
        Files.readAttributes(compiled, java.nio.file.attribute.BasicFileAttributes.class).fileKey();
    try (var fixture = WasmStage.open(directory)) {
      assertThat(fixture.run(ContainerSpec.of(image)).lines()).containsExactly("hello");
    }
    assertThat(
            Files.readAttributes(compiled, java.nio.file.attribute.BasicFileAttributes.class)
                .fileKey())
        .as("it was used, not made again")
        .isEqualTo(key);
    assertThat(Files.getLastModifiedTime(compiled).toInstant()).isAfter(Instant.EPOCH);

    for (int at : new int[] {3, classes.length / 2, classes.length - 1}) {
      byte[] damaged = classes.clone();
      damaged[at] ^= 1;
      Files.write(compiled, damaged);
      try (var fixture = WasmStage.open(directory)) {
        assertThat(fixture.run(ContainerSpec.of(image)).lines()).containsExactly("hello");
      }
      assertThat(compiled).isRegularFile();
      assertThat(new String(Files.readAllBytes(compiled), 0, 7, StandardCharsets.US_ASCII))
          .isEqualTo("sha256:");
    }
  }

  @Test
  void aContainerKeepsItsModuleWhenItsImageIsGone() throws InterruptedException {
    try (var fixture = WasmStage.open(directory)) {
      ImageRef image = fixture.image("hello", Modules.hello());
      Container container = fixture.create(ContainerSpec.of(image));
      assertThat(fixture.runtime.uses()).hasSize(1);
      fixture.store.images().remove(image, true);
      container.start();
      assertThat(WasmStage.ended(container).status().success()).isTrue();
      container.remove(false);
    }
  }

  private static Path only(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.findFirst().orElseThrow();
    }
  }
}

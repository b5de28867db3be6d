package dev.zlayer.testkit.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Platform;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

@Requires({Fact.DOCKER_REGISTRY, Fact.SKOPEO})
class LocalRegistryIT {
  private static ImageMaker small() {
    return ImageMaker.scratch().layer(TarEntry.file("hello", "world\n"));
  }

  @Test
  void whatWasPushedCanBePulled() throws InterruptedException {
    try (var registry = LocalRegistry.start()) {
      MadeImage made = small().make();
      var ref = registry.push(made, "team/app:v1");
      assertThat(ref.canonical()).isEqualTo(registry.host() + "/team/app:v1");
      CommandResult inspected = inspect(ref.canonical());
      assertThat(inspected.success()).as(inspected.stderr()).isTrue();
      assertThat(JsonText.parse(inspected.stdout()).at("Digest").string())
          .contains(made.digest().toString());
      assertThat(registry.requests())
          .anyMatch(r -> r.method().equals("PUT") && r.path().endsWith("/manifests/v1"))
          .anyMatch(r -> r.method().equals("GET") && r.path().endsWith("/manifests/v1"));
    }
  }

  @Test
  void indexAndDockerAndWasmImagesArePushed() throws InterruptedException {
    try (var registry = LocalRegistry.start()) {
      MadeImage arm = small().platform(Platform.parse("linux/arm64")).make();
      registry.push(ImageMaker.index(small().make(), arm), "multi:v1");
      MadeImage docker = ImageMaker.scratch().docker().layer(TarEntry.directory("d")).make();
      registry.push(docker, "docker:v1");
      registry.push(ImageMaker.wasm("\0asm".getBytes(StandardCharsets.US_ASCII)), "wasm:v1");
      assertThat(inspect(registry.host() + "/multi:v1", "--override-arch", "arm64").stdout())
          .contains("arm64");
      assertThat(inspect(registry.host() + "/docker:v1").success()).isTrue();
      assertThat(inspect(registry.host() + "/wasm:v1", "--raw").stdout())
          .contains("application/wasm");
    }
  }

  @Test
  @Requires(Fact.HTPASSWD)
  void aLoginIsNeededWhereOneIsSet() throws InterruptedException {
    var options = LocalRegistry.Options.DEFAULT.withLogin("ann", "s3cret");
    try (var registry = LocalRegistry.start(options)) {
      String ref = registry.push(small(), "app:v1").canonical();
      assertThat(inspect(ref, "--no-creds").success()).isFalse();
      assertThat(inspect(ref, "--creds", "ann:wrong").success()).isFalse();
      assertThat(inspect(ref, "--creds", "ann:s3cret").success()).isTrue();
    }
  }

  @Test
  void deletingNeedsToBeAllowed() throws InterruptedException {
    MadeImage made = small().make();
    try (var registry = LocalRegistry.start()) {
      registry.push(made, "app:v1");
      assertThatThrownBy(() -> registry.delete("app", made.digest())).hasMessageContaining("405");
    }
    try (var registry = LocalRegistry.start(LocalRegistry.Options.DEFAULT.withDelete())) {
      String ref = registry.push(made, "app:v1").canonical();
      registry.delete("app", made.digest());
      assertThat(inspect(ref).success()).isFalse();
    }
  }

  @Test
  void closingEndsTheProcessAndTakesItsFilesAway() {
    var registry = LocalRegistry.start();
    registry.push(small(), "app:v1");
    var storage = registry.storage();
    assertThat(storage).isDirectory();
    registry.close();
    assertThat(Files.exists(storage.getParent())).isFalse();
    assertThatThrownBy(
            () ->
                new RegistryPush(
                        registry.host(), java.util.Optional.empty(), java.util.Optional.empty())
                    .push(small().make(), "app", "v1"))
        .isInstanceOf(java.io.UncheckedIOException.class);
  }

  private static CommandResult inspect(String ref, String... options) throws InterruptedException {
    var arguments = new ArrayList<>(List.of("skopeo"));
    var inspect = new ArrayList<>(List.of("inspect", "--tls-verify=false"));
    for (int i = 0; i < options.length; i++) {
      if (options[i].startsWith("--override")) {
        arguments.addAll(List.of(options[i], options[++i]));
      } else {
        inspect.add(options[i]);
      }
    }
    arguments.addAll(inspect);
    arguments.add("docker://" + ref);
    return Processes.run(Command.of(arguments), Deadline.after(Duration.ofMinutes(1)));
  }
}

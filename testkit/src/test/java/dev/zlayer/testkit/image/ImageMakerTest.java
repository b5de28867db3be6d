package dev.zlayer.testkit.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Platform;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageMakerTest {
  private static ImageMaker small() {
    return ImageMaker.scratch().layer(TarEntry.file("hello", "world\n"));
  }

  @Test
  void sameStepsGiveTheSameDigest() {
    assertThat(small().make().digest()).isEqualTo(small().make().digest());
    assertThat(small().env("A", "b").make().digest()).isNotEqualTo(small().make().digest());
  }

  @Test
  void configSaysWhatWasAskedFor() {
    MadeImage made =
        small()
            .platform(Platform.parse("linux/arm/v6"))
            .entrypoint("/a", "b")
            .cmd("c")
            .env("K", "v")
            .user("app")
            .workdir("/w")
            .expose("80/tcp")
            .volume("/data")
            .label("l", "x")
            .stopSignal("SIGINT")
            .make();
    Json config = JsonText.parse(made.config().orElseThrow().bytes());
    assertThat(JsonText.print(config.at("config")))
        .isEqualTo(
            "{\"Entrypoint\":[\"/a\",\"b\"],\"Cmd\":[\"c\"],\"Env\":[\"K=v\"],\"User\":\"app\","
                + "\"WorkingDir\":\"/w\",\"ExposedPorts\":{\"80/tcp\":{}},"
                + "\"Volumes\":{\"/data\":{}},\"Labels\":{\"l\":\"x\"},\"StopSignal\":\"SIGINT\"}");
    assertThat(config.at("variant").string()).contains("v6");
    assertThat(config.at("rootfs").at("diff_ids").strings())
        .containsExactly(made.layers().getFirst().diffId().toString());
  }

  @Test
  void dockerTypesAreUsedThroughout() {
    MadeImage made = ImageMaker.scratch().docker().layer(TarEntry.file("hello", "world\n")).make();
    assertThat(made.manifest().mediaType()).contains("docker.distribution.manifest.v2");
    assertThat(made.config().orElseThrow().mediaType()).contains("docker.container.image");
    assertThat(made.layers().getFirst().blob().mediaType()).endsWith("diff.tar.gzip");
    assertThat(ImageMaker.index(made).manifest().mediaType()).contains("manifest.list.v2");
  }

  @Test
  void anIndexNamesPlatformsAndBringsAllBlobs() {
    MadeImage amd = small().make();
    MadeImage arm = small().platform(Platform.parse("linux/arm64")).make();
    MadeImage index = ImageMaker.index(amd, arm);
    Json json = JsonText.parse(index.manifest().bytes());
    assertThat(json.at("manifests").items())
        .extracting(item -> item.at("platform").at("architecture").string().orElseThrow())
        .containsExactly("amd64", "arm64");
    assertThat(index.manifests()).hasSize(3);
    assertThat(index.blobs()).as("two configs, and a layer that both share").hasSize(3);
  }

  @Test
  void everyFileOfALayoutHasItsDigestAsName(@TempDir Path directory) throws Exception {
    small().make().layout(directory, "v1");
    try (var files = Files.list(directory.resolve("blobs/sha256"))) {
      var blobs = files.toList();
      assertThat(blobs).hasSize(3);
      for (Path blob : blobs) {
        assertThat(Content.digest(Files.readAllBytes(blob)).hex())
            .isEqualTo(blob.getFileName().toString());
      }
    }
  }

  @Test
  void aWasmModuleIsAnArtifactOfOneLayer() {
    byte[] module = "\0asm".getBytes(StandardCharsets.US_ASCII);
    MadeImage made = ImageMaker.wasm(module);
    assertThat(made.layers().getFirst().blob().mediaType()).isEqualTo("application/wasm");
    assertThat(made.platform()).contains(Platform.parse("wasip1/wasm"));
  }
}

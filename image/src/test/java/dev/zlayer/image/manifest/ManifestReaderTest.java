package dev.zlayer.image.manifest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.oci.Platform;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ManifestReaderTest {
  private static final String HEX = "a".repeat(64);

  private static Manifest read(String text) throws InvalidImageException {
    return ManifestReader.read(text.getBytes(StandardCharsets.UTF_8), "");
  }

  private static String descriptor(int size) {
    return "{\"digest\":\"sha256:%s\",\"size\":%d,\"mediaType\":\"x\"}".formatted(HEX, size);
  }

  @Test
  void readsWhatTheMakerMakes() throws Exception {
    MadeImage made =
        ImageMaker.scratch().layer(TarEntry.file("a", "b")).annotation("k", "v").make();
    var image = (Manifest.Image) ManifestReader.read(made.manifest().bytes(), "");
    assertThat(image.config().digest()).isEqualTo(made.config().orElseThrow().digest());
    assertThat(image.layers()).hasSize(1);
    assertThat(image.annotations()).containsEntry("k", "v");
    assertThat(image.kind()).isEqualTo(ArtifactKind.ROOT_FILE_SYSTEM);
    var wasm =
        (Manifest.Image) ManifestReader.read(ImageMaker.wasm(new byte[8]).manifest().bytes(), "");
    assertThat(wasm.kind()).isEqualTo(ArtifactKind.WASM_MODULE);
    var index = (Manifest.Index) ManifestReader.read(ImageMaker.index(made).manifest().bytes(), "");
    assertThat(index.manifests()).extracting(Descriptor::digest).containsExactly(made.digest());
  }

  @Test
  void refusesTwoFacedDocuments() {
    assertThatThrownBy(
            () -> read("{\"manifests\":[],\"layers\":[],\"config\":%s}".formatted(descriptor(1))))
        .isInstanceOf(InvalidImageException.class)
        .hasMessageContaining("both an index and an image");
    assertThatThrownBy(
            () ->
                read(
                    "{\"mediaType\":\"%s\",\"layers\":[],\"config\":%s}"
                        .formatted(MediaTypes.OCI_INDEX, descriptor(1))))
        .isInstanceOf(InvalidImageException.class);
  }

  @Test
  void refusesSchema1Clearly() {
    assertThatThrownBy(() -> read("{\"schemaVersion\":1,\"fsLayers\":[]}"))
        .isInstanceOf(InvalidImageException.class)
        .hasMessageContaining("schema 1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "{",
        "{}",
        "{\"config\":{},\"layers\":[]}",
        "{\"manifests\":[{\"digest\":\"sha256:zz\",\"size\":1}]}",
        "{\"manifests\":[{\"digest\":\"md5:00\",\"size\":1}]}",
        "{\"manifests\":[{\"size\":1}]}",
      })
  void refusesWhatIsNoManifest(String text) {
    assertThatThrownBy(() -> read(text)).isInstanceOf(InvalidImageException.class);
  }

  @Test
  void boundsSizesAndCounts() {
    assertThatThrownBy(() -> read("{\"manifests\":[" + descriptor(-1) + "]}"))
        .hasMessageContaining("size");
    List<String> many = new ArrayList<>();
    for (int i = 0; i < 501; i++) {
      many.add(descriptor(1));
    }
    assertThatThrownBy(
            () ->
                read(
                    "{\"config\":%s,\"layers\":[%s]}"
                        .formatted(descriptor(1), String.join(",", many))))
        .hasMessageContaining("501 layers");
    assertThatThrownBy(() -> ManifestReader.read(new byte[ManifestReader.MAX_BYTES + 1], ""))
        .hasMessageContaining("over 4194304 bytes");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"config\": {\"User\": 5}} | config.User has to be text, but is the number 5",
        "{\"config\": {\"Entrypoint\": \"/bin/app\"}} | config.Entrypoint has to be a list",
        "{\"config\": {\"Cmd\": [\"a\", 1]}} | config.Cmd[1] has to be text",
        "{\"config\": {\"Env\": {\"A\": \"b\"}}} | config.Env has to be a list, but is an object",
        "{\"config\": {\"WorkingDir\": []}} | config.WorkingDir has to be text",
        "{\"config\": {\"Volumes\": [\"/a\"]}} | config.Volumes has to be an object",
        "{\"config\": {\"ExposedPorts\": 80}} | config.ExposedPorts has to be an object",
        "{\"config\": {\"Labels\": {\"a\": null}}} | config.Labels.a has to be text, but is null",
        "{\"config\": {\"StopSignal\": 9}} | config.StopSignal has to be text",
        "{\"config\": \"x\"} | config has to be an object",
        "{\"os\": 1, \"architecture\": \"amd64\"} | os has to be text",
        "{\"rootfs\": []} | rootfs has to be an object",
        "{\"rootfs\": {\"diff_ids\": \"sha256:1\"}} | rootfs.diff_ids has to be a list",
        "{\"history\": [{\"empty_layer\": \"yes\"}]} | history[0].empty_layer has to be true or"
            + " false",
        "[] | the image configuration has to be an object",
      })
  void aConfigurationWithAValueOfAnotherTypeIsRefusedWithItsPath(String json, String problem) {
    assertThatThrownBy(() -> ImageConfig.read(json.getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(InvalidImageException.class)
        .hasMessageContaining(problem);
  }

  @Test
  void absentAndNullAreTheSameInAConfiguration() throws Exception {
    String json =
        "{\"config\": {\"User\": null, \"Cmd\": null, \"Volumes\": null, \"Labels\": null},"
            + " \"history\": null, \"created\": \"yesterday\"}";
    ImageConfig config = ImageConfig.read(json.getBytes(StandardCharsets.UTF_8));
    assertThat(config.run().user()).isEmpty();
    assertThat(config.run().command()).isEmpty();
    assertThat(config.createdAt()).isEmpty();
  }

  private static Descriptor entry(String platform, String version) {
    Platform parsed = Platform.parse(platform);
    return new Descriptor(
        "x",
        new dev.zlayer.oci.Digest("sha256", HEX),
        1,
        Optional.of(
            new Platform(
                parsed.os(),
                parsed.architecture(),
                parsed.variant(),
                version.isEmpty() ? Optional.empty() : Optional.of(version))),
        Map.of());
  }

  @ParameterizedTest
  @CsvSource({
    "linux/amd64, linux/amd64",
    "linux/arm/v7, linux/arm/v7",
    "linux/arm/v6, linux/arm/v6",
    "linux/arm, linux/arm/v7",
    "linux/arm64, linux/arm64",
    "linux/riscv64, none",
    "windows/amd64, windows/amd64",
  })
  void choosesTheBestPlatform(String wanted, String expected) {
    var index =
        new Manifest.Index(
            List.of(
                entry("linux/arm/v5", ""),
                entry("linux/arm/v6", ""),
                entry("linux/arm/v7", ""),
                entry("linux/arm64/v8", ""),
                entry("linux/amd64/v3", ""),
                entry("linux/amd64", ""),
                entry("windows/amd64", "10.0.1.1")));
    assertThat(
            PlatformChoice.choose(index, Platform.parse(wanted))
                .map(choice -> choice.platform().orElseThrow().toString())
                .orElse("none"))
        .isEqualTo(expected);
  }

  @Test
  void prefersTheSameSystemVersion() {
    var index =
        new Manifest.Index(
            List.of(
                entry("windows/amd64", "10.0.17763.1"),
                entry("windows/amd64", "10.0.20348.5"),
                entry("windows/amd64", "10.0.20348.9")));
    var host = new Platform("windows", "amd64", Optional.empty(), Optional.of("10.0.20348.9"));
    assertThat(PlatformChoice.choose(index, host).flatMap(Descriptor::platform)).contains(host);
    var other = new Platform("windows", "amd64", Optional.empty(), Optional.of("10.0.99999.1"));
    assertThat(PlatformChoice.choose(index, other)).isEmpty();
  }
}

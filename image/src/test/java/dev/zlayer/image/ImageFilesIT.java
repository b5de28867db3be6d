package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Requires({Fact.ROOT, Fact.SKOPEO})
class ImageFilesIT {
  private static final ImageRef NAME = ImageRef.parse("example.org/team/app:v1");

  @TempDir Path temp;
  private TestStore store;

  @BeforeEach
  void open() {
    store = TestStore.in(temp.resolve("data"));
  }

  @AfterEach
  void close() {
    store.close();
  }

  private static ImageMaker app() {
    return ImageMaker.scratch()
        .layer(TarEntry.file("one", "one"))
        .layer(Compression.NONE, List.of(TarEntry.file("two", "two")))
        .env("A", "b");
  }

  private static InputStream in(byte[] bytes) {
    return new ByteArrayInputStream(bytes);
  }

  private static CommandResult run(String... arguments) throws InterruptedException {
    return Processes.run(Command.of(arguments), Deadline.after(Duration.ofMinutes(1)));
  }

  private static byte[] tar(TarEntry... entries) {
    return TarWriter.archive(List.of(entries));
  }

  private Path saved() throws Exception {
    Path file = temp.resolve("saved.tar");
    try (OutputStream out = Files.newOutputStream(file)) {
      store.images.save(List.of(NAME), out);
    }
    return file;
  }

  @Test
  void savedImageIsReadBySkopeoInBothFormsAndByUs() throws Exception {
    MadeImage made = app().make();
    store.images.load(in(made.ociArchive(NAME.canonical())));
    Path file = saved();
    for (String form : List.of("oci-archive:", "docker-archive:")) {
      CommandResult inspected = run("skopeo", "inspect", form + file);
      assertThat(inspected.success()).as(inspected.stderr()).isTrue();
      assertThat(JsonText.parse(inspected.stdout()).at("Env").strings()).contains("A=b");
      CommandResult copied =
          run("skopeo", "copy", "-q", form + file, "dir:" + temp.resolve(form.substring(0, 3)));
      assertThat(copied.success()).as(copied.stderr()).isTrue();
    }
    try (var other = TestStore.in(temp.resolve("other"))) {
      var loaded = other.images.load(Files.newInputStream(file));
      assertThat(loaded).singleElement().matches(info -> info.digest().equals(made.digest()));
      assertThat(other.images.find(NAME)).isPresent();
      assertThat(other.store.check().findings()).isEmpty();
    }
  }

  @Test
  void loadsWhatSkopeoWrites() throws Exception {
    Path layout = app().make().layout(temp.resolve("layout"), "v1");
    for (String form : List.of("docker-archive:", "oci-archive:")) {
      Path file = temp.resolve(form.replace(":", ".tar"));
      CommandResult copied =
          run(
              "skopeo",
              "copy",
              "-q",
              "oci:" + layout + ":v1",
              form + file + ":" + NAME.canonical());
      assertThat(copied.success()).as(copied.stderr()).isTrue();
      var loaded = store.images.load(Files.newInputStream(file));
      assertThat(loaded)
          .as(form)
          .singleElement()
          .matches(i -> i.references().equals(List.of(NAME)));
      List<Path> layers = store.images.layers(NAME);
      assertThat(layers.get(0).resolve("one")).hasContent("one");
      assertThat(layers.get(1).resolve("two")).hasContent("two");
      store.images.remove(NAME, false);
      assertThat(store.store.check().findings()).as(form).isEmpty();
    }
  }

  @Test
  void loadsOldDockerArchivesPackedOrNot() throws Exception {
    byte[] archive = app().make().dockerArchive("team/app:v1", "team/app:latest");
    var packed = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(packed)) {
      gzip.write(archive);
    }
    store.images.load(in(packed.toByteArray()));
    var info = store.images.load(in(archive)).getFirst();
    assertThat(info.references())
        .extracting(ImageRef::canonical)
        .containsExactly("docker.io/team/app:v1", "docker.io/team/app:latest");
    assertThat(store.images.layers(ImageRef.parse("team/app:v1")).get(1).resolve("two")).exists();
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void loadsTheRightPlatformOfAnIndex() throws Exception {
    MadeImage amd = app().make();
    MadeImage arm = app().env("X", "y").platform(Platform.parse("linux/arm64")).make();
    var loaded = store.images.load(in(ImageMaker.index(arm, amd).ociArchive(NAME.canonical())));
    assertThat(loaded).singleElement().matches(info -> info.digest().equals(amd.digest()));
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void importsARootFileSystem() throws Exception {
    byte[] root = tar(TarEntry.directory("etc"), TarEntry.file("etc/os", "here"));
    var packed = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(packed)) {
      gzip.write(root);
    }
    store.images.importRoot(in(packed.toByteArray()), NAME);
    assertThat(store.images.layers(NAME).getFirst().resolve("etc/os")).hasContent("here");
    ImageRef plain = ImageRef.parse("plain:v1");
    store.images.importRoot(in(root), plain);
    assertThat(store.images.layers(plain)).isEqualTo(store.images.layers(NAME));
    assertThat(store.images.find(plain).orElseThrow().history()).hasSize(1);
    assertThat(store.store.check().findings()).isEmpty();
    assertThat(run("skopeo", "inspect", "oci-archive:" + saved()).success()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"not tar", "empty", "blob", "names", "lacks", "index", "huge", "link", "layer"})
  void hostileArchivesAreRefusedAndLeaveNothing(String kind) {
    String manifest = "[{\"Config\":\"c\",\"RepoTags\":[\"a:b\"],\"Layers\":[\"l\"]}]";
    byte[] archive =
        switch (kind) {
          case "not tar" -> "hello, this is not an archive at all".repeat(40).getBytes();
          case "empty" -> tar(TarEntry.file("x", "y"));
          case "blob" -> tar(TarEntry.file("blobs/sha256/" + "a".repeat(64), "y"));
          case "names" ->
              tar(TarEntry.file("blobs/sha256/../../x", "y"), TarEntry.file("blobs/x", "z"));
          case "lacks" -> tar(TarEntry.file("manifest.json", manifest));
          case "index" -> tar(TarEntry.file("index.json", "{\"manifests\":[{\"size\":1}]}"));
          case "huge" -> tar(TarEntry.file("index.json", new byte[5 << 20]));
          case "link" ->
              tar(
                  TarEntry.symlink("c", "/etc/passwd"),
                  TarEntry.symlink("l", "../../../../etc/passwd"),
                  TarEntry.file("manifest.json", manifest));
          default ->
              tar(
                  TarEntry.file(
                      "c", "{\"rootfs\":{\"diff_ids\":[\"sha256:" + "a".repeat(64) + "\"]}}"),
                  TarEntry.file("l", tar(TarEntry.file("../out", "x"))),
                  TarEntry.file("manifest.json", manifest));
        };
    assertThatThrownBy(() -> store.images.load(in(archive)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageStartingWith("the archive cannot be loaded: ");
    assertThat(store.images.list()).isEmpty();
    assertThat(store.store.check().findings()).isEmpty();
    assertThat(store.store.check().blobs()).isZero();
  }

  @Test
  void failedImportLeavesNothing() {
    assertThatThrownBy(() -> store.images.importRoot(in(tar(TarEntry.file("../out", "x"))), NAME))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("out");
    assertThat(store.store.check().findings()).isEmpty();
  }
}

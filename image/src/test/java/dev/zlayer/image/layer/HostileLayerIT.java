package dev.zlayer.image.layer;

import static dev.zlayer.testkit.image.TarEntry.characterDevice;
import static dev.zlayer.testkit.image.TarEntry.directory;
import static dev.zlayer.testkit.image.TarEntry.file;
import static dev.zlayer.testkit.image.TarEntry.hardLink;
import static dev.zlayer.testkit.image.TarEntry.symlink;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.zlayer.oci.Digest;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Archives that want out: refused with the entry named, or harmless; nothing outside changes. */
@Requires({Fact.ROOT, Fact.ZSTD})
class HostileLayerIT {
  /** Stands for the directory beside the store that must stay as it is. */
  private static final String CANARY = "/CANARY";

  @TempDir Path directory;
  private Path canary;
  private LayerStore store;
  private SortedMap<String, String> before;

  @BeforeEach
  void plant() throws Exception {
    canary = Files.createDirectories(directory.resolve("canary/sub")).getParent();
    Files.writeString(canary.resolve("keep"), "as it was");
    Files.writeString(canary.resolve("sub/keep"), "as it was");
    Files.createDirectory(canary.resolve("empty"));
    store = LayerStore.open(directory.resolve("layers"), LayerLimits.DEFAULT);
    before = TreeListing.of(canary);
  }

  @AfterEach
  void nothingElseChanged() throws Exception {
    assertThat(TreeListing.of(canary)).isEqualTo(before);
  }

  static Stream<Arguments> refused() {
    return Stream.of(
        arguments("../escape", List.of(file("../escape", "x"))),
        arguments("a/../../escape", List.of(file("a/../../escape", "x"))),
        arguments("/..", List.of(directory("/.."))),
        arguments("x", List.of(hardLink("x", "../../canary/keep"))),
        arguments("x", List.of(hardLink("x", CANARY + "/keep"))),
        arguments("x", List.of(hardLink("x", "/etc/passwd"))),
        arguments("x", List.of(symlink("e", "/etc"), hardLink("x", "e/passwd"))),
        arguments("x", List.of(directory("d"), hardLink("x", "d"))),
        arguments("x", List.of(hardLink("x", ""))),
        arguments("out/x", List.of(symlink("out", CANARY), file("out/x", "x"))),
        arguments("out/x", List.of(symlink("out", "../../../canary"), file("out/x", "x"))),
        arguments("out/x/y", List.of(symlink("out", CANARY), directory("out/x/y"))),
        arguments("out/.wh.keep", List.of(symlink("out", CANARY), file("out/.wh.keep", ""))),
        arguments(
            "out/.wh..wh..opq", List.of(symlink("out", CANARY), file("out/.wh..wh..opq", ""))),
        arguments("loop/x", List.of(symlink("loop", "loop"), file("loop/x", "x"))),
        arguments("a/.wh..", List.of(file("a/.wh..", ""))),
        arguments("a/.wh...", List.of(file("a/.wh...", ""))),
        arguments("a/.wh.", List.of(file("a/.wh.", ""))),
        arguments("a/b", List.of(file("a", "x"), file("a/b", "x"))),
        arguments(
            "a/b/x",
            List.of(
                directory("a/b"),
                file("a/b/first", "x"),
                symlink("a", CANARY),
                file("a/b/x", "x"))),
        arguments(
            "a/sub/x",
            List.of(file("a/sub/first", "x"), symlink("a", CANARY), file("a/sub/x", "x"))),
        arguments(".", List.of(file(".", "x"))),
        arguments("/", List.of(symlink("/", CANARY))),
        arguments("s", List.of(symlink("s", ""))),
        arguments("u", List.of(file("u", "x").withOwner(4294967295L, 0))),
        arguments("u", List.of(file("u", "x").withOwner(1L << 40, 0))),
        arguments("u", List.of(file("u", "x").withPax("gid", ascii("-1")))),
        arguments("u", List.of(file("u", "x").withPax("uid", ascii("x")))),
        arguments("d", List.of(characterDevice("d", 5000, 1))),
        arguments("d", List.of(characterDevice("d", 1, 1 << 21))),
        arguments("t", List.of(TarEntry.of("t", 'Z', 0644, "", new byte[0]))),
        arguments("n".repeat(100), List.of(file("n".repeat(256), "x"))),
        arguments("p/".repeat(99), List.of(file("p/".repeat(2500) + "x", "x"))),
        arguments("z?", List.of(file("z", "x").withPax("path", new byte[] {'z', 0}))),
        arguments("big", List.of(file("big", "x").withDeclaredSize(1L << 62))),
        arguments("neg", List.of(file("neg", "x").withDeclaredSize(-5))),
        arguments("cut", List.of(file("cut", "x").withDeclaredSize(100_000))),
        arguments("sum", List.of(file("sum", "x").withBadChecksum())),
        arguments("", List.of(file("less", "x".repeat(2000)).withDeclaredSize(600))),
        arguments("", List.of(file("m", "x").withPax("size", ascii("1e3")))),
        arguments("hole", List.of(sparse("hole", "0,3,2,3", "6", "xxxxxx"))),
        arguments("hole", List.of(sparse("hole", "0,3,9,3", "6", "xxxxxx"))),
        arguments("hole", List.of(sparse("hole", "0,3", "6", "xxxxxx"))),
        arguments("hole", List.of(sparse("hole", "0,6", "999999999999999", "xxxxxx"))));
  }

  @ParameterizedTest
  @MethodSource
  void refused(String entry, List<TarEntry> entries) throws Exception {
    byte[] tar = TarWriter.archive(entries.stream().map(this::aimed).toList());

    assertThatThrownBy(() -> unpack(tar))
        .isInstanceOfSatisfying(
            LayerException.class,
            e -> {
              assertThat(e).hasMessageContaining(entry).message().isNotBlank();
              assertThat(e.entry()).isPresent();
            });

    assertThat(directory.resolve("layers")).isEmptyDirectory();
  }

  static Stream<Arguments> harmless() {
    return Stream.of(
        arguments("etc/x", List.of(file("/etc/x", "x"))),
        arguments("etc/x", List.of(file("//./etc/.//x", "x"))),
        arguments("x", List.of(symlink("up", "../../../../.."), file("up/x", "x"))),
        arguments("f", List.of(symlink("f", CANARY + "/keep"), file("f", "x"))),
        arguments("d", List.of(symlink("d", CANARY), directory("d").withMode(0777))),
        arguments("h", List.of(symlink("s", CANARY + "/keep"), hardLink("h", "s"), file("h", "x"))),
        arguments("d", List.of(symlink("d", CANARY), characterDevice("d", 1, 3))),
        arguments("a", List.of(file("a/b/c/d", "x"), symlink("l", "a/b"), file("a", "x"))),
        arguments("l", List.of(symlink("l", "."), symlink("l/l", CANARY))),
        arguments("x", List.of(file("x", "x"), hardLink("x", "x"))),
        arguments("real/x", List.of(directory("real"), symlink("to", "real"), file("to/x", "x"))),
        arguments("real/x", List.of(directory("real"), symlink("to", "/real"), file("to/x", "x"))),
        arguments("odd\nname\t", List.of(file("odd\nname\t", "x"))),
        arguments("x", List.of(file(".wh..wh.plnk/1", "x"), file("x", "x"))));
  }

  @ParameterizedTest
  @MethodSource
  void harmless(String made, List<TarEntry> entries) throws Exception {
    byte[] tar = TarWriter.archive(entries.stream().map(this::aimed).toList());

    Digest diffId = unpack(tar);

    assertThat(TreeListing.of(store.path(diffId))).containsKey(made);
  }

  @Test
  void anArchiveCannotSpeakToOverlayfs() throws Exception {
    TarEntry entry =
        directory("d")
            .withXattr("trusted.overlay.redirect", ascii("/other"))
            .withXattr("trusted.overlay.opaque", ascii("y"))
            .withXattr("user.overlay.opaque", ascii("y"));

    Digest diffId = unpack(TarWriter.archive(List.of(entry)));

    assertThat(TreeListing.of(store.path(diffId)).get("d")).isNotEmpty().doesNotContain("overlay");
  }

  @Test
  void whiteoutsBecomeWhatOverlayfsKnows() throws Exception {
    Digest diffId =
        unpack(
            TarWriter.archive(
                List.of(
                    TarEntry.whiteout("gone"),
                    TarEntry.opaque("opaque"),
                    file("kept", "x"),
                    TarEntry.whiteout("kept"),
                    TarEntry.whiteout("again"),
                    directory("again"),
                    TarEntry.whiteout("parent"),
                    file("parent/child", "x"))));

    SortedMap<String, String> tree = TreeListing.of(store.path(diffId));
    assertThat(tree.keySet())
        .containsExactly("", "again", "gone", "kept", "opaque", "parent", "parent/child");
    assertThat(tree.get("gone")).startsWith("c 0 0:0").contains(" 0/0");
    assertThat(tree.get("kept")).startsWith("f 644");
    String opaque = "trusted.overlay.opaque=79";
    assertThat(tree.get("opaque")).startsWith("d 755").contains(opaque);
    assertThat(tree.get("again")).startsWith("d 755").contains(opaque);
    assertThat(tree.get("parent")).startsWith("d 755").contains(opaque);
  }

  @Test
  void refusesMoreThanTheLimits() throws Exception {
    byte[] tar = TarWriter.archive(List.of(file("a", new byte[20_000]), file("b", "x")));
    var limits = LayerLimits.DEFAULT;
    List<LayerLimits> tight =
        List.of(
            new LayerLimits(1, limits.pathBytes(), limits.nameBytes(), 9, limits.bytes(), 1100),
            new LayerLimits(9, limits.pathBytes(), limits.nameBytes(), 9, 10_000, 1100));
    for (LayerLimits each : tight) {
      store = LayerStore.open(directory.resolve("layers"), each);
      assertThatThrownBy(() -> unpack(tar))
          .isInstanceOf(LayerException.class)
          .hasMessageContaining("more than");
      assertThat(directory.resolve("layers")).isEmptyDirectory();
    }
  }

  @Test
  void refusesGzipThatGrowsBeyondMeasure() throws Exception {
    Digest zeros = zeros("gzip -1");
    store =
        LayerStore.open(
            directory.resolve("layers"), new LayerLimits(9, 4095, 255, 9, 1L << 40, 100));

    assertThatThrownBy(() -> unpackFile(zeros))
        .isInstanceOf(LayerException.class)
        .hasMessageContaining("compressed size");
    assertThat(directory.resolve("layers")).isEmptyDirectory();
  }

  /** Zstd makes 200 MiB of zeros 20,000 times smaller, which no gzip can. */
  @Test
  void zerosInZstdAreHonestUpToTheLimitOfBytes() throws Exception {
    Digest zeros = zeros("zstd -q");

    unpackFile(zeros);

    assertThat(store.path(zeros).resolve("zeros")).hasSize(200 << 20);
    store =
        LayerStore.open(
            directory.resolve("small"), new LayerLimits(9, 4095, 255, 9, 100 << 20, 1100));
    assertThatThrownBy(() -> unpackFile(zeros))
        .isInstanceOf(LayerException.class)
        .hasMessageContaining("more than 104857600 bytes");
    assertThat(directory.resolve("small")).isEmptyDirectory();
  }

  /** A file "bomb" with an archive of 200 MiB of zeros; its diff id. */
  private Digest zeros(String packer) throws Exception {
    byte[] header = TarWriter.archive(List.of(file("zeros", "").withDeclaredSize(200L << 20)));
    Files.write(directory.resolve("header"), Arrays.copyOf(header, 512));
    TreeListing.run(
        directory,
        "sh",
        "-ec",
        "(cat header; head -c 200M /dev/zero; head -c 1024 /dev/zero) | tee sum.in | "
            + packer
            + " > bomb; sha256sum <sum.in >sum; rm sum.in");
    return new Digest("sha256", Files.readString(directory.resolve("sum")).substring(0, 64));
  }

  private void unpackFile(Digest diffId) throws Exception {
    try (var bomb = Files.newInputStream(directory.resolve("bomb"))) {
      store.unpack(diffId, bomb, _ -> {});
    }
  }

  @Test
  void refusesBrokenCompression() throws Exception {
    byte[] tar = TarWriter.archive(List.of(file("a", new byte[300_000])));
    for (Compression compression : List.of(Compression.GZIP, Compression.ZSTD)) {
      byte[] blob =
          ImageMaker.scratch().rawLayer(compression, tar).make().layers().getFirst().blob().bytes();
      byte[] damaged = blob.clone();
      Arrays.fill(damaged, blob.length / 2, blob.length / 2 + 20, (byte) 0xAA);
      for (byte[] bad : List.of(Arrays.copyOf(blob, blob.length - 9), damaged)) {
        assertThatThrownBy(
                () -> store.unpack(Content.digest(tar), new ByteArrayInputStream(bad), _ -> {}))
            .isInstanceOf(LayerException.class);
      }
    }
    byte[] xz = {(byte) 0xfd, '7', 'z', 'X', 'Z', 0, 0, 0};
    assertThatThrownBy(() -> unpack(xz)).hasMessageContaining("xz");
    assertThat(directory.resolve("layers")).isEmptyDirectory();
  }

  @Test
  void refusesContentOfAnotherDiffId() throws Exception {
    byte[] tar = TarWriter.archive(List.of(file("a", "x")));
    Digest other = Content.digest(new byte[] {1});

    assertThatThrownBy(() -> store.unpack(other, new ByteArrayInputStream(tar), _ -> {}))
        .isInstanceOf(LayerException.class)
        .hasMessageContaining(other.toString())
        .hasMessageContaining(Content.digest(tar).toString());
    assertThat(directory.resolve("layers")).isEmptyDirectory();
    assertThat(store.has(other)).isFalse();
  }

  private Digest unpack(byte[] tar) throws Exception {
    Digest diffId = Content.digest(tar);
    store.unpack(diffId, new ByteArrayInputStream(tar), _ -> {});
    return diffId;
  }

  private TarEntry aimed(TarEntry entry) {
    if (!entry.link().startsWith(CANARY)) {
      return entry;
    }
    String link = canary + entry.link().substring(CANARY.length());
    return TarEntry.of(entry.path(), entry.type(), entry.mode(), link, entry.content());
  }

  private static TarEntry sparse(String name, String map, String size, String stored) {
    return file(name, stored)
        .withPax("GNU.sparse.map", ascii(map))
        .withPax("GNU.sparse.size", ascii(size));
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}

package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.Digest;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The same archive, unpacked by us, by GNU tar and by umoci, gives the same tree. */
@Requires({Fact.ROOT, Fact.UMOCI, Fact.ZSTD})
class UnpackLikeOthersIT {
  /** cap_net_bind_service as setcap writes it. */
  private static final byte[] CAPABILITY =
      HexFormat.of().parseHex("0100000200040000000000000000000000000000");

  private static final String MAKE_TREE =
      """
      umask 022
      mkdir -p a/b/c many 'with space' && echo hello > a/b/c/hello
      ln a/b/c/hello a/hard && ln -s /etc/passwd a/absolute && ln -s ../.. a/b/up
      mknod dev-c c 5 1 && mknod dev-b b 259 1048575 && mkfifo pipe && chmod 640 pipe
      cp /bin/true suid && chmod 4755 suid && chmod 1777 many && chmod 2750 a/b && chmod 0 a/b/c/hello
      chown 12345:54321 a/b pipe dev-c && chown -h 1:2 a/absolute
      dd if=/dev/urandom of=sparse bs=4096 count=1 seek=100 status=none
      dd if=/dev/urandom of=sparse bs=4096 count=1 seek=2000 conv=notrunc status=none
      truncate -s 20M sparse && truncate -s 5M hole
      i=0; while [ $i -lt 300 ]; do echo $i > many/$i; i=$((i+1)); done
      long=$(printf 'n%.0s' $(seq 120)); mkdir -p $long/$long && echo x > $long/$long/file
      ln -s $long/$long/$long/target longlink
      printf x > "$(printf 'odd\\nname\\351')"
      touch -d '2001-02-03 04:05:06.123456789' a/b/c/hello sparse many
      touch -h -d '1999-12-31 23:59:59' a/absolute
      touch -d '2010-01-01' a/b/c a/b a .
      """;

  @TempDir Path directory;
  private LayerStore store;

  @BeforeEach
  void open() throws Exception {
    store = LayerStore.open(directory.resolve("layers"), LayerLimits.DEFAULT);
  }

  @ParameterizedTest
  @CsvSource({"gnu,1.0", "oldgnu,1.0", "posix,0.0", "posix,0.1", "posix,1.0", "ustar,none"})
  void unpacksWhatGnuTarPacked(String format, String sparse) throws Exception {
    Path tree = Files.createDirectory(directory.resolve("tree"));
    TreeListing.run(tree, "sh", "-ec", MAKE_TREE);
    Path archive = directory.resolve("archive.tar");
    List<String> pack =
        new ArrayList<>(
            List.of("tar", "-C", tree.toString(), "-cf", archive.toString(), "--numeric-owner"));
    pack.add("--format=" + format);
    if (!sparse.equals("none")) {
      pack.add("--sparse");
      if (format.equals("posix")) {
        pack.add("--sparse-version=" + sparse);
      }
    } else {
      TreeListing.run(tree, "sh", "-ec", "rm -r longlink nnn*"); // too long for this format
    }
    if (!format.equals("posix")) {
      // whole seconds are all that these formats can tell
      TreeListing.run(tree, "sh", "-ec", "find . -exec touch -h -d @1234567890 {} +");
    } else {
      TreeListing.run(tree, "sh", "-ec", "find . -name 'n*' -exec touch -h -d @1234567890.5 {} +");
    }
    pack.add(".");
    TreeListing.run(directory, pack.toArray(String[]::new));

    Digest diffId = unpack(Files.readAllBytes(archive));

    assertThat(TreeListing.of(store.path(diffId))).isEqualTo(TreeListing.of(tree));
    if (!sparse.equals("none")) {
      assertThat(blocks(store.path(diffId).resolve("hole"))).isZero();
    }
  }

  @Test
  void unpacksLikeGnuTar() throws Exception {
    byte[] tar = everything();
    Path theirs = Files.createDirectory(directory.resolve("theirs"));
    Files.write(directory.resolve("layer.tar"), tar);
    TreeListing.run(
        theirs,
        "tar",
        "-xpf",
        "../layer.tar",
        "--xattrs",
        "--xattrs-include=*",
        "--numeric-owner",
        "--same-owner");

    Digest diffId = unpack(tar);

    assertThat(TreeListing.of(store.path(diffId))).isEqualTo(TreeListing.of(theirs));
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void unpacksLikeUmoci(Compression compression) throws Exception {
    byte[] tar = everything();
    // umoci at hand knows no zstd: it gets the same archive in a form it knows
    Compression known = compression == Compression.ZSTD ? Compression.GZIP : compression;
    MadeImage image = ImageMaker.scratch().rawLayer(known, tar).make();
    Path layout = image.layout(directory.resolve("layout"), "v1");
    TreeListing.run(directory, "umoci", "unpack", "--image", layout + ":v1", "bundle");

    MadeImage ours = ImageMaker.scratch().rawLayer(compression, tar).make();
    byte[] blob = ours.layers().getFirst().blob().bytes();
    Digest diffId = image.layers().getFirst().diffId();
    store.unpack(diffId, new ByteArrayInputStream(blob), _ -> {});

    // umoci does not give the root the time that the archive says
    TreeListing.run(store.path(diffId), "touch", "-d", "@1", ".");
    TreeListing.run(directory.resolve("bundle/rootfs"), "touch", "-d", "@1", ".");
    assertThat(TreeListing.of(store.path(diffId)))
        .isEqualTo(TreeListing.of(directory.resolve("bundle/rootfs")));
  }

  @Test
  void keepsNamesThatAreNotUtf8() throws Exception {
    byte[] odd = "caf\u00e9/\u00ff\u00fe\n".getBytes(StandardCharsets.ISO_8859_1);
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("replaced", "x").withPax("path", odd)));

    Digest diffId = unpack(tar);

    String names = TreeListing.run(store.path(diffId), "sh", "-c", "find . -type f | od -An -tx1");
    assertThat(names.replaceAll("\\s", ""))
        .isEqualTo(
            HexFormat.of().formatHex("./".getBytes(StandardCharsets.US_ASCII))
                + HexFormat.of().formatHex(odd)
                + "0a");
  }

  @Test
  void globalRecordsHoldUntilAnEntrySaysOtherwise() throws Exception {
    var bytes = new ByteArrayOutputStream();
    try (var writer = new TarWriter(bytes)) {
      writer.pax('g', Map.of("mtime", "1000.25".getBytes(StandardCharsets.US_ASCII)));
      writer.add(TarEntry.file("global", "1"));
      writer.add(
          TarEntry.file("own", "2").withPax("mtime", "2000".getBytes(StandardCharsets.US_ASCII)));
    }

    Digest diffId = unpack(bytes.toByteArray());

    assertThat(Files.getLastModifiedTime(store.path(diffId).resolve("global")).toInstant())
        .isEqualTo(Instant.ofEpochSecond(1000, 250_000_000));
    assertThat(Files.getLastModifiedTime(store.path(diffId).resolve("own")).toInstant())
        .isEqualTo(Instant.ofEpochSecond(2000));
  }

  private Digest unpack(byte[] tar) throws Exception {
    Digest diffId = Content.digest(tar);
    store.unpack(diffId, new ByteArrayInputStream(tar), _ -> {});
    return diffId;
  }

  private static byte[] everything() {
    String longName = "deep/" + "d".repeat(90) + "/" + "e".repeat(120) + "/file";
    return TarWriter.archive(
        List.of(
            TarEntry.directory("./").withMode(0711).withOwner(7, 8),
            TarEntry.directory("etc/").withMode(02755).withOwner(10, 20),
            TarEntry.file("etc/passwd", "root:x:0:0\n").withMode(0600).withOwner(1000, 1001),
            TarEntry.hardLink("etc/passwd-", "etc/passwd").withMode(0600).withOwner(1000, 1001),
            TarEntry.symlink("etc/absolute", "/etc/passwd").withOwner(4, 5),
            TarEntry.symlink("etc/dangling", "../../../nowhere"),
            TarEntry.file("bin/tool", new byte[300_000])
                .withMode(06755)
                .withXattr("security.capability", CAPABILITY),
            TarEntry.file("bin/noted", "x").withXattr("user.note", new byte[] {0, 10, 61, -1}),
            TarEntry.directory("bin").withModified(Instant.parse("2015-05-05T05:05:05Z")),
            TarEntry.directory("tmp").withMode(01777).withXattr("user.dir", new byte[] {1}),
            TarEntry.characterDevice("dev/null", 1, 3).withOwner(0, 6),
            TarEntry.blockDevice("dev/disk", 8, 300),
            TarEntry.directory("dev"),
            TarEntry.fifo("run/pipe").withMode(0622),
            TarEntry.directory("run"),
            TarEntry.directory("deep"),
            TarEntry.directory("deep/" + "d".repeat(90)),
            TarEntry.directory("deep/" + "d".repeat(90) + "/" + "e".repeat(120)),
            TarEntry.file(longName, "deep"),
            TarEntry.file("fraction", "1").withModified(Instant.ofEpochSecond(5, 123_456_789)),
            TarEntry.file("before", "1").withModified(Instant.ofEpochSecond(-100)),
            TarEntry.file("many-ids", "1").withOwner(4_000_000_000L, 3_000_000_000L),
            TarEntry.file("empty", ""),
            TarEntry.file("twice", "first"),
            TarEntry.file("twice", "second").withMode(0755),
            TarEntry.file("\u00fcml\u00e4ut \u2603", "1")));
  }

  private static long blocks(Path file) throws Exception {
    return Long.parseLong(
        TreeListing.run(file.getParent(), "stat", "-c", "%b", file.toString()).strip());
  }
}

package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.image.manifest.ImageConfig;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.tar.TarReader;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Everything that comes from outside, damaged at random: it is read, or refused in one of the ways
 * that callers know, within a bound of output. Always the same cases; {@code
 * -Dzlayer.fuzz.seconds=600} tries others for longer. A failure prints the seed and the input;
 * inputs that once failed are in CORPUS.
 */
class ReaderFuzzTest {
  /** Over this a small input has been blown up. */
  private static final int MOST_OUTPUT = 64 << 20;

  private static final int CASES = 3000;

  private static final String[] WORDS = {
    "{",
    "}",
    "[",
    "]",
    "null",
    "true",
    "-1",
    "1e999",
    "9223372036854775808",
    "\"",
    "\\u0000",
    "sha256:",
    "..",
    "/",
    ":",
    "@",
    "\u00e9",
    "linux",
    "application/vnd.oci.image.index.v1+json"
  };

  /** Hexadecimal, each with what it was. */
  private static final List<String> CORPUS =
      List.of(
          "7b22636f6e666967223a7b2255736572223a357d7d", // a user that is a number
          "7b22686973746f7279223a5b6e756c6c5d7d", // a history without entry
          "7b2261223a3965393130323138393834377d", // a number that no computer holds
          "572d30302f612f61", // a host by its capitals, which the canonical form lost
          "1f8b0800000000000003", // gzip that ends after its header
          "1f8b08ff00000000000300", // gzip with all optional parts and none of them
          "28b52ffd", // zstd that ends after its magic number
          "502a4d1800000000", // an empty frame of zstd that is to be skipped
          "502a4d18ffffffff"); // one that is longer than all

  enum Format {
    MANIFEST,
    CONFIG,
    REFERENCE,
    TAR,
    GZIP,
    ZSTD
  }

  @ParameterizedTest
  @EnumSource
  void damagedInputIsReadOrRefused(Format format) {
    long seconds = Long.getLong("zlayer.fuzz.seconds", 0);
    long seed = Long.getLong("zlayer.fuzz.seed", seconds == 0 ? 1 : System.nanoTime());
    var random = new Random(seed);
    List<byte[]> sound = sound(format);
    long end = System.nanoTime() + 1_000_000_000L * seconds;
    int cases = 0;
    while (cases < CASES || System.nanoTime() < end) {
      byte[] input = damaged(sound.get(random.nextInt(sound.size())), random);
      check(format, input, "seed " + seed + ", case " + cases);
      cases++;
    }
  }

  @Test
  void whatOnceFailedIsReadOrRefused() {
    for (String hex : CORPUS) {
      for (Format format : Format.values()) {
        check(format, HexFormat.of().parseHex(hex), "corpus " + hex);
      }
    }
  }

  private static void check(Format format, byte[] input, String which) {
    try {
      read(format, input);
    } catch (IOException | AgentException.InvalidSpec _) {
      // refused, as callers expect
    } catch (RuntimeException | InterruptedException | StackOverflowError e) {
      fail("%s of %s: %s".formatted(which, format, HexFormat.of().formatHex(input)), e);
    }
  }

  private static void read(Format format, byte[] input) throws IOException, InterruptedException {
    switch (format) {
      case MANIFEST -> ManifestReader.read(input, "");
      case CONFIG -> ImageConfig.read(input);
      case REFERENCE -> {
        ImageRef ref = ImageRef.parse(new String(input, StandardCharsets.UTF_8));
        assertThat(ImageRef.parse(ref.canonical())).isEqualTo(ref);
      }
      case TAR -> tar(new ByteArrayInputStream(input));
      case GZIP, ZSTD -> {
        try (InputStream in = Decompression.open(new ByteArrayInputStream(input))) {
          var buffer = new byte[8192];
          int total = 0;
          for (int got = in.read(buffer); got >= 0 && total < MOST_OUTPUT; got = in.read(buffer)) {
            assertThat(got).isPositive();
            total += got;
          }
        }
      }
    }
  }

  private static void tar(InputStream in) throws IOException, InterruptedException {
    var reader = new TarReader(in);
    for (var member = reader.next(); member.isPresent(); member = reader.next()) {
      assertThat(member.get().size()).isNotNegative();
      reader.content((offset, _, _, length) -> assertThat(offset + length).isNotNegative());
    }
  }

  private static List<byte[]> sound(Format format) {
    MadeImage image =
        ImageMaker.scratch()
            .layer(TarEntry.file("a", "a"))
            .layer(TarEntry.file("b", "b"))
            .env("A", "b")
            .entrypoint("/a")
            .label("team", "blue")
            .make();
    byte[] archive =
        TarWriter.archive(
            List.of(
                TarEntry.directory("d").withMode(0700),
                TarEntry.file("d/f", "x".repeat(1500)).withXattr("user.a", new byte[] {1, 2}),
                TarEntry.hardLink("d/g", "d/f"),
                TarEntry.symlink("l", "d"),
                TarEntry.file("n".repeat(200), "long"),
                TarEntry.characterDevice("c", 1, 3),
                TarEntry.whiteout("gone")));
    return switch (format) {
      case MANIFEST -> image.manifests().stream().map(content -> content.bytes()).toList();
      case CONFIG -> image.blobs().stream().map(c -> c.bytes()).filter(b -> b[0] == '{').toList();
      case REFERENCE ->
          List.of(
              utf8("alpine"),
              utf8("localhost:5000/team/app:v1"),
              utf8("registry.example/a/b/c@sha256:" + "ab".repeat(32)),
              utf8("[::1]:5000/app:v1"));
      case TAR -> List.of(archive);
      case GZIP -> List.of(packed(Compression.GZIP, archive));
      case ZSTD -> List.of(packed(Compression.ZSTD, archive));
    };
  }

  private static byte[] packed(Compression compression, byte[] tar) {
    return ImageMaker.scratch()
        .rawLayer(compression, tar)
        .make()
        .layers()
        .getFirst()
        .blob()
        .bytes();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** One to eight changes: bits, bytes, words, cuts, repetitions. */
  private static byte[] damaged(byte[] sound, Random random) {
    byte[] bytes = sound.clone();
    for (int i = random.nextInt(8); i >= 0 && bytes.length > 0; i--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(6)) {
        case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> bytes[at] = (byte) random.nextInt(256);
        case 2 -> bytes = Arrays.copyOf(bytes, at);
        case 3 -> bytes = spliced(bytes, at, utf8(WORDS[random.nextInt(WORDS.length)]), 0);
        case 4 -> bytes = spliced(bytes, at, new byte[0], random.nextInt(40));
        default ->
            bytes =
                spliced(
                    bytes,
                    at,
                    Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + random.nextInt(600))),
                    0);
      }
    }
    return bytes;
  }

  /** With {@code inserted} at that place, instead of so many bytes. */
  private static byte[] spliced(byte[] bytes, int at, byte[] inserted, int dropped) {
    var result = new ArrayList<Byte>();
    for (int i = 0; i < at; i++) {
      result.add(bytes[i]);
    }
    for (byte b : inserted) {
      result.add(b);
    }
    for (int i = Math.min(bytes.length, at + dropped); i < bytes.length; i++) {
      result.add(bytes[i]);
    }
    byte[] array = new byte[result.size()];
    for (int i = 0; i < array.length; i++) {
      array[i] = result.get(i);
    }
    return array;
  }
}

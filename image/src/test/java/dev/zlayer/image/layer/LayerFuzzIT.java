package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.Digest;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random archives of nasty paths, links and damaged bytes, beside a tree that must not change. */
@Requires(Fact.ROOT)
class LayerFuzzIT {
  private static final int ARCHIVES = 150;

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void nothingOutsideTheRootChanges(long seed) throws Exception {
    Path canary = Files.createDirectories(directory.resolve("canary/a/b")).getParent().getParent();
    Files.writeString(canary.resolve("f"), "as it was");
    Files.writeString(canary.resolve("a/f"), "as it was");
    SortedMap<String, String> before = TreeListing.of(canary);
    Path layers = directory.resolve("layers");
    LayerStore store = LayerStore.open(layers, LayerLimits.DEFAULT);
    var random = new Random(seed);
    int unpacked = 0;
    for (int i = 0; i < ARCHIVES; i++) {
      byte[] tar = archive(random, canary.toString());
      Digest diffId = Content.digest(tar);
      try {
        store.unpack(diffId, new ByteArrayInputStream(tar), _ -> {});
        unpacked++;
        assertThat(store.has(diffId)).as("archive %d", i).isTrue();
        store.remove(diffId);
      } catch (LayerException e) {
        assertThat(e).as("archive %d", i).message().isNotBlank();
      }
      assertThat(layers).as("archive %d", i).isEmptyDirectory();
      assertThat(Files.readString(canary.resolve("f"))).as("archive %d", i).isEqualTo("as it was");
    }
    assertThat(TreeListing.of(canary)).isEqualTo(before);
    assertThat(directory)
        .isDirectoryContaining(path -> path.equals(layers))
        .satisfies(
            all -> {
              try (var names = Files.list(all)) {
                assertThat(names).hasSize(2);
              }
            });
    assertThat(unpacked).as("some archives must get through").isBetween(5, ARCHIVES - 5);
  }

  private static byte[] archive(Random random, String canary) {
    List<TarEntry> entries = new ArrayList<>();
    int count = 1 + random.nextInt(25);
    for (int i = 0; i < count; i++) {
      entries.add(entry(random, canary));
    }
    byte[] tar = TarWriter.archive(entries);
    if (random.nextInt(4) == 0) {
      for (int i = 0; i < 3; i++) {
        tar[random.nextInt(tar.length)] = (byte) random.nextInt(256);
      }
    }
    return tar;
  }

  private static TarEntry entry(Random random, String canary) {
    String path = path(random, canary);
    return switch (random.nextInt(8)) {
      case 0, 1 -> TarEntry.file(path, "x".repeat(random.nextInt(2000)));
      case 2 -> TarEntry.directory(path).withMode(random.nextInt(010000));
      case 3, 4 -> TarEntry.symlink(path, target(random, canary));
      case 5 -> TarEntry.hardLink(path, path(random, canary));
      case 6 -> TarEntry.fifo(path);
      default -> TarEntry.characterDevice(path, random.nextInt(3), random.nextInt(3));
    };
  }

  private static String path(Random random, String canary) {
    String[] pieces = {"a", "b", "a", "b", "l", "l", "f", ".", "", ".wh.a", ".wh.l", "\u00ff\n"};
    if (random.nextInt(60) == 0) {
      return canary + "/f";
    }
    var path = new StringBuilder(random.nextInt(10) == 0 ? "/" : "");
    int depth = 1 + random.nextInt(3);
    for (int i = 0; i < depth; i++) {
      path.append(i == 0 ? "" : "/");
      int kind = random.nextInt(120);
      path.append(
          kind == 0 ? ".." : kind == 1 ? ".wh..wh..opq" : pieces[random.nextInt(pieces.length)]);
    }
    return path.toString();
  }

  private static String target(Random random, String canary) {
    return switch (random.nextInt(6)) {
      case 0 -> canary;
      case 1 -> canary + "/a";
      case 2 -> "../../../canary/a";
      case 3 -> ".";
      case 4 -> "/";
      default -> path(random, canary);
    };
  }
}

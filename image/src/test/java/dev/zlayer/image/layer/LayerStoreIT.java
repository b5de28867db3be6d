package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage.MadeLayer;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires(Fact.ROOT)
class LayerStoreIT {
  @TempDir Path directory;
  private Path layers;
  private LayerStore store;

  @BeforeEach
  void open() throws Exception {
    layers = directory.resolve("layers");
    store = LayerStore.open(layers, LayerLimits.DEFAULT);
  }

  /** Whoever removes layers holds a lock that makers of containers wait for; see Collector. */
  @Test
  void aDetachedLayerIsAbsentBeforeItsFilesAreDeleted() throws Exception {
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("f", "x")));
    Digest layer = Content.digest(tar);
    store.unpack(layer, new ByteArrayInputStream(tar), _ -> {});

    LayerStore.Remains remains = store.detach(layer);

    assertThat(store.has(layer)).isFalse();
    assertThat(store.list()).isEmpty();
    store.sweep(); // leaves what somebody is about to delete
    try (var names = Files.list(directory.resolve("layers"))) {
      assertThat(names).hasSize(1);
    }
    store.unpack(layer, new ByteArrayInputStream(tar), _ -> {});
    remains.delete();
    assertThat(store.path(layer).resolve("f")).hasContent("x");
    try (var names = Files.list(directory.resolve("layers"))) {
      assertThat(names).hasSize(1);
    }
    store.detach(Content.digest(new byte[] {9})).delete();
  }

  @Test
  void keepsListsMeasuresAndRemoves() throws Exception {
    MadeLayer layer =
        ImageMaker.scratch()
            .layer(TarEntry.directory("d"), TarEntry.file("d/f", "12345"), TarEntry.file("g", "6"))
            .make()
            .layers()
            .getFirst();
    var read = new AtomicLong();

    store.unpack(layer.diffId(), new ByteArrayInputStream(layer.blob().bytes()), read::set);

    assertThat(store.has(layer.diffId())).isTrue();
    assertThat(store.list()).containsExactly(layer.diffId());
    assertThat(store.usage(layer.diffId())).isEqualTo(new LayerUsage(6, 4));
    assertThat(store.path(layer.diffId()).resolve("d/f")).hasContent("12345");
    assertThat(read.get()).isEqualTo(layer.blob().size());
    assertThat(LayerStore.open(layers, LayerLimits.DEFAULT).list()).containsExactly(layer.diffId());
    store.remove(layer.diffId());
    store.remove(layer.diffId());
    assertThat(store.list()).isEmpty();
    assertThat(layers).isEmptyDirectory();
  }

  @Test
  void callsForOneLayerShareTheWork() throws Exception {
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("f", new byte[1_000_000])));
    Digest diffId = Content.digest(tar);
    var reads = new AtomicInteger();
    try (var scope = new TaskScope("many")) {
      for (int i = 0; i < 8; i++) {
        scope.fork(
            () -> {
              var blob =
                  new ByteArrayInputStream(tar) {
                    private boolean counted;

                    @Override
                    public int read(byte[] out, int from, int length) {
                      reads.addAndGet(counted ? 0 : 1);
                      counted = true;
                      return super.read(out, from, length);
                    }
                  };
              store.unpack(diffId, blob, _ -> {});
              return true;
            });
      }
      scope.join();
    }
    assertThat(reads).hasValue(1);
    assertThat(layers).isDirectoryContaining(path -> path.endsWith("sha256-" + diffId.hex()));
  }

  @Test
  void readsSeveralGzipMembersInARow() throws Exception {
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("f", new byte[100_000])));
    var blob = new ByteArrayOutputStream();
    for (int from = 0; from < tar.length; from += 30_000) {
      byte[] part = Arrays.copyOfRange(tar, from, Math.min(tar.length, from + 30_000));
      blob.writeBytes(
          ImageMaker.scratch()
              .rawLayer(Compression.GZIP, part)
              .make()
              .layers()
              .getFirst()
              .blob()
              .bytes());
    }
    blob.writeBytes(new byte[77]);

    store.unpack(Content.digest(tar), new ByteArrayInputStream(blob.toByteArray()), _ -> {});

    assertThat(store.path(Content.digest(tar)).resolve("f")).hasSize(100_000);
  }

  @Test
  void anInterruptedUnpackLeavesNothing() throws Exception {
    byte[] tar = TarWriter.archive(manyFiles());
    var blob = new Stalling(tar, tar.length / 2);
    var outcome = new ArrayList<Throwable>();
    Thread unpacking =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    store.unpack(Content.digest(tar), blob, _ -> {});
                  } catch (Exception e) {
                    outcome.add(e);
                  }
                });
    blob.stalled.await();
    await().until(() -> madeFiles(layers) > 50);

    unpacking.interrupt();
    unpacking.join();

    assertThat(outcome).singleElement().isInstanceOf(InterruptedException.class);
    assertThat(layers).isEmptyDirectory();
  }

  @Test
  void aKilledUnpackIsSweptAway() throws Exception {
    Process child =
        Processes.start(
            Command.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Child.class.getName(),
                layers.toString()),
            directory.resolve("child.log").toFile());
    try {
      await().atMost(Duration.ofSeconds(60)).until(() -> madeFiles(layers) > 50);
    } finally {
      child.destroyForcibly().waitFor();
    }
    assertThat(layers).isNotEmptyDirectory();
    LayerStore reopened = LayerStore.open(layers, LayerLimits.DEFAULT);
    assertThat(reopened.list()).isEmpty();

    reopened.sweep();

    assertThat(layers).isEmptyDirectory();
    byte[] tar = TarWriter.archive(manyFiles());
    reopened.unpack(Content.digest(tar), new ByteArrayInputStream(tar), _ -> {});
    assertThat(reopened.list()).hasSize(1);
  }

  @Test
  void sweepSparesWhatIsBeingUnpacked() throws Exception {
    byte[] tar = TarWriter.archive(manyFiles());
    var blob = new Stalling(tar, tar.length / 2);
    try (var scope = new TaskScope("unpack")) {
      scope.fork(
          () -> {
            store.unpack(Content.digest(tar), blob, _ -> {});
            return true;
          });
      blob.stalled.await();
      store.sweep();
      blob.go.countDown();
      scope.join();
    }
    assertThat(store.has(Content.digest(tar))).isTrue();
  }

  @Test
  void aLayerThatDidNotReachTheDiskBeforeACrashDoesNotCount() throws Exception {
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("f", "x")));
    byte[] settled = TarWriter.archive(List.of(TarEntry.file("g", "x")));
    store.unpack(Content.digest(settled), new ByteArrayInputStream(settled), _ -> {});
    store.settle(Instant.EPOCH); // nothing is that old: still unsettled
    assertThat(mark(Content.digest(settled))).exists();
    store.settle(Instant.MAX);
    assertThat(mark(Content.digest(settled))).doesNotExist();
    store.unpack(Content.digest(tar), new ByteArrayInputStream(tar), _ -> {});
    assertThat(store.list()).hasSize(2);

    LayerStore next = LayerStore.open(layers, LayerLimits.DEFAULT, "next boot");

    assertThat(next.has(Content.digest(tar))).isFalse();
    assertThat(next.list()).containsExactly(Content.digest(settled));
    next.unpack(Content.digest(tar), new ByteArrayInputStream(tar), _ -> {});
    assertThat(next.list()).hasSize(2);
    LayerStore third = LayerStore.open(layers, LayerLimits.DEFAULT, "third boot");
    third.sweep();
    try (var names = Files.list(layers)) {
      assertThat(names).hasSize(1);
    }
    assertThat(third.list()).containsExactly(Content.digest(settled));
  }

  @Test
  void removesTreesDeeperThanAnyPath() throws Exception {
    // each link shortens the way, so that the depth is beyond what one path can name; few links,
    // since the kernel counts those of an attempt it gives up to the next one
    List<TarEntry> entries = new ArrayList<>();
    String step = "d/".repeat(250);
    String at = "";
    for (int i = 0; i < 10; i++) {
      entries.add(TarEntry.directory(at + step));
      entries.add(TarEntry.symlink("l" + i, "/" + at + step));
      at = "l" + i + "/";
    }
    byte[] tar = TarWriter.archive(entries);

    store.unpack(Content.digest(tar), new ByteArrayInputStream(tar), _ -> {});
    assertThat(store.usage(Content.digest(tar)).inodes()).isEqualTo(1 + 10 * 250 + 10);
    store.remove(Content.digest(tar));

    assertThat(layers).isEmptyDirectory();
  }

  @Test
  void onlyItsOwnerMayEnter() throws Exception {
    assertThat(Files.getPosixFilePermissions(layers)).hasSize(3);
    assertThatThrownBy(() -> RootedDirectory.open(layers.resolve("absent")))
        .hasMessageContaining("absent");
  }

  private Path mark(Digest diffId) {
    return layers.resolve(diffId.algorithm() + "-" + diffId.hex()).resolve("unsettled");
  }

  private static List<TarEntry> manyFiles() {
    return IntStream.range(0, 2000)
        .mapToObj(i -> TarEntry.file("dir/" + i, "x".repeat(600)))
        .toList();
  }

  private static long madeFiles(Path tree) throws IOException {
    try (var all = Files.walk(tree)) {
      return all.count();
    } catch (UncheckedIOException _) {
      return 0; // something went away under the walk
    }
  }

  /** Gives a part, then waits. */
  private static final class Stalling extends InputStream {
    final CountDownLatch stalled = new CountDownLatch(1);
    final CountDownLatch go = new CountDownLatch(1);
    private final byte[] bytes;
    private final int pause;
    private int position;

    Stalling(byte[] bytes, int pause) {
      this.bytes = bytes;
      this.pause = pause;
    }

    @Override
    public int read() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int read(byte[] out, int from, int length) throws IOException {
      if (position >= pause) {
        stalled.countDown();
        try {
          go.await();
        } catch (InterruptedException _) {
          throw new IOException("interrupted");
        }
      }
      if (position == bytes.length) {
        return -1;
      }
      int part = Math.min(length, (position < pause ? pause : bytes.length) - position);
      System.arraycopy(bytes, position, out, from, part);
      position += part;
      return part;
    }
  }

  /** Unpacks half a layer and waits to be killed. */
  static final class Child {
    public static void main(String[] arguments) throws Exception {
      byte[] tar = TarWriter.archive(manyFiles());
      LayerStore.open(Path.of(arguments[0]), LayerLimits.DEFAULT)
          .unpack(Content.digest(tar), new Stalling(tar, tar.length / 2), _ -> {});
    }
  }
}

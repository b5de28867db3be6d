package dev.zlayer.image.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.linux.Mounts;
import dev.zlayer.image.layer.LayerLimits;
import dev.zlayer.image.layer.LayerStore;
import dev.zlayer.image.layer.TreeListing;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.BlockingPool;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Requires({Fact.ROOT, Fact.OVERLAYFS})
class SnapshotsIT {
  @TempDir Path directory;
  private Path home;
  private LayerStore layers;
  private Snapshots snapshots;

  @BeforeEach
  void open() throws Exception {
    home = directory.resolve("snapshots");
    layers = LayerStore.open(directory.resolve("layers"), LayerLimits.DEFAULT);
    snapshots = Snapshots.open(home, layers);
  }

  @AfterEach
  void leaveNoMounts() throws Exception {
    for (Snapshot snapshot : snapshots.list()) {
      snapshot.remove();
    }
    Path real = directory.toRealPath();
    assertThat(Mounts.list()).noneMatch(mount -> mount.target().startsWith(real));
    assertThat(home).isEmptyDirectory();
  }

  @Test
  void writesGoToTheUpperDirectoryAlone() throws Exception {
    Digest layer = unpack(TarEntry.file("etc/conf", "layer"), TarEntry.file("old", "x"));
    Snapshot snapshot = snapshots.create("c1", List.of(layer));
    snapshot.mount();
    snapshot.mount();

    Files.writeString(snapshot.root().resolve("etc/conf"), "changed");
    Files.writeString(snapshot.root().resolve("new"), "12345");
    Files.delete(snapshot.root().resolve("old"));

    assertThat(Mounts.list().stream().filter(m -> m.target().equals(snapshot.root()))).hasSize(1);
    assertThat(layers.path(layer).resolve("etc/conf")).hasContent("layer");
    assertThat(layers.path(layer).resolve("old")).exists();
    assertThat(snapshot.upper().resolve("new")).hasContent("12345");
    assertThat(snapshot.usage()).isEqualTo(new SnapshotUsage(12, 4));
    snapshot.unmount();
    snapshot.unmount();
    assertThat(snapshot.root()).isEmptyDirectory();
    Snapshot again = Snapshots.open(home, layers).find("c1").orElseThrow();
    assertThat(again.layers()).containsExactly(layer);
    again.mount();
    assertThat(again.root().resolve("new")).hasContent("12345");
    again.remove();
    assertThat(snapshots.find("c1")).isEmpty();
    assertThat(snapshots.list()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Requires({Fact.UMOCI, Fact.ROOT})
  void showsTheSameTreeAsUmoci(boolean overlay) throws Exception {
    MadeImage image = changes();
    Path layout = image.layout(directory.resolve("layout"), "v1");
    run("umoci", "unpack", "--image", layout + ":v1", directory.resolve("bundle").toString());
    List<Digest> diffIds = new ArrayList<>();
    for (MadeImage.MadeLayer layer : image.layers()) {
      layers.unpack(layer.diffId(), new ByteArrayInputStream(layer.blob().bytes()), _ -> {});
      diffIds.add(layer.diffId());
    }
    Snapshots used = overlay ? snapshots : Snapshots.copying(home, layers);

    Snapshot snapshot = used.create("same", diffIds);
    snapshot.mount();

    Path theirs = directory.resolve("bundle/rootfs");
    assertThat(Mounts.mounted(snapshot.root())).isEqualTo(overlay);
    // times of directories that another layer changed below differ between the programs
    assertThat(withoutDirectoryTimes(snapshot.root())).isEqualTo(withoutDirectoryTimes(theirs));
  }

  @Test
  void copiesKeepTheirOwnFiles() throws Exception {
    Digest layer = unpack(TarEntry.file("f", "layer"), TarEntry.hardLink("g", "f"));
    Snapshot snapshot = Snapshots.copying(home, layers).create("copy", List.of(layer));
    snapshot.mount();

    Files.writeString(snapshot.root().resolve("f"), "changed");

    assertThat(snapshot.root().resolve("g")).hasContent("changed");
    assertThat(layers.path(layer).resolve("f")).hasContent("layer");
    assertThat(snapshot.upper()).isEqualTo(snapshot.root());
    // what was copied once stays a copy, also where overlayfs works
    Snapshot found = snapshots.find("copy").orElseThrow();
    found.mount();
    assertThat(found.root().resolve("f")).hasContent("changed");
  }

  @Test
  void stacksTwoHundredLayers() throws Exception {
    List<Digest> stack = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      stack.add(unpack(TarEntry.file("file-" + i, "" + i), TarEntry.file("last", "" + i)));
    }
    Snapshot snapshot = snapshots.create("high", stack);
    snapshot.mount();

    assertThat(snapshot.root().resolve("last")).hasContent("199");
    for (int i : IntStream.range(0, 200).toArray()) {
      assertThat(snapshot.root().resolve("file-" + i)).hasContent("" + i);
    }
  }

  /** With names so long that 120 of them do not fit into the page that mount(2) takes. */
  @Test
  void kernelsBefore65MountTheSameLayers() throws Exception {
    List<Digest> stack = new ArrayList<>();
    for (int i = 0; i < 120; i++) {
      stack.add(unpack(TarEntry.file("classic-" + i, "" + i), TarEntry.file("top", "" + i)));
    }
    System.setProperty("zlayer.overlay.classic", "true");
    try {
      Snapshots classic = Snapshots.open(home, layers);
      assertThat(classic.copyReason()).isEmpty();
      Snapshot snapshot = classic.create("classic", stack);
      snapshot.mount();

      assertThat(Mounts.mounted(snapshot.root())).isTrue();
      assertThat(stack.size() * layers.path(stack.getFirst()).toString().length())
          .isGreaterThan(4096);
      assertThat(snapshot.root().resolve("top")).hasContent("119");
      assertThat(snapshot.root().resolve("classic-0")).hasContent("0");
      Files.writeString(snapshot.root().resolve("new"), "x");
      assertThat(snapshot.upper().resolve("new")).hasContent("x");
    } finally {
      System.clearProperty("zlayer.overlay.classic");
    }
  }

  @Test
  void aLayerMayComeTwiceAndThereMayBeNone() throws Exception {
    Digest one = unpack(TarEntry.file("f", "one"));
    Digest two = unpack(TarEntry.whiteout("f"), TarEntry.file("g", "two"));
    Snapshot twice = snapshots.create("twice", List.of(one, two, one));
    twice.mount();
    assertThat(twice.root().resolve("f")).hasContent("one");
    assertThat(twice.layers()).containsExactly(one, two, one);

    Snapshot none = snapshots.create("none", List.of());
    none.mount();
    Files.writeString(none.root().resolve("f"), "x");
    assertThat(none.usage().inodes()).isOne();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aLayerOpaqueAtItsRootHidesAllBelow(boolean overlay) throws Exception {
    Digest below = unpack(TarEntry.file("below", "x"));
    Digest opaque = unpack(TarEntry.file(".wh..wh..opq", ""), TarEntry.file("above", "x"));
    Snapshots used = overlay ? snapshots : Snapshots.copying(home, layers);

    Snapshot snapshot = used.create("opaque", List.of(below, opaque));
    snapshot.mount();

    assertThat(snapshot.root().resolve("above")).exists();
    assertThat(snapshot.root().resolve("below")).doesNotExist();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void directoriesAreAsTheLayerThatListedThemSays(boolean overlay) throws Exception {
    Digest base =
        unpack(
            TarEntry.directory(".").withMode(0750).withOwner(5, 6),
            TarEntry.directory("var").withMode(0711).withOwner(1, 2),
            TarEntry.directory("var/tmp")
                .withMode(01777)
                .withOwner(3, 4)
                .withModified(Instant.ofEpochSecond(1000)));
    Digest top = unpack(TarEntry.file("var/tmp/file", "x"), TarEntry.file("opt/own/file", "x"));
    Snapshots used = overlay ? snapshots : Snapshots.copying(home, layers);

    Snapshot snapshot = used.create("listed", List.of(base, top));
    snapshot.mount();

    var tree = TreeListing.of(snapshot.root());
    assertThat(tree.get("")).startsWith("d 750 5:6");
    assertThat(tree.get("var")).startsWith("d 711 1:2");
    assertThat(tree.get("var/tmp")).startsWith("d 1777 3:4 1000.0");
    assertThat(tree.get("opt/own")).startsWith("d 755 0:0");
    assertThat(tree).containsKeys("var/tmp/file", "opt/own/file");
  }

  /**
   * A path of directories that the upper layer does not list, and the lower does: ten times as many
   * cost about ten times as much, to unpack and to make a container from. When each was searched
   * for from the root it was a hundred times, and 25 s for two thousand.
   */
  @Test
  void deepDirectoriesThatAreNotListedCostLittle() throws Exception {
    long few = Long.MAX_VALUE;
    for (int round = 0; round < 3; round++) { // the first ones also load and compile classes
      few = Math.min(few, deep(200, "few" + round));
    }
    long many = deep(2000, "many");

    assertThat(many).isLessThan(40 * few);
    Path third = home.resolve("many/implied/d/d/d");
    assertThat((int) Files.getAttribute(third, "unix:mode") & 07777).isEqualTo(0702);
    for (Digest layer : layers.list()) {
      layers.remove(layer); // here, since JUnit deletes deep trees slowly
    }
  }

  /** Returns what it takes of the processor, whatever else that does. */
  private long deep(int depth, String key) throws Exception {
    List<TarEntry> listed = new ArrayList<>();
    var path = new StringBuilder();
    for (int i = 0; i < depth; i++) {
      path.append(i == 0 ? "d" : "/d");
      listed.add(TarEntry.directory(path.toString()).withMode(0700 + i % 8));
    }
    Digest base = unpack(listed.toArray(TarEntry[]::new));
    byte[] top = TarWriter.archive(List.of(TarEntry.file(path + "/" + key, "x")));
    var threads = ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadCpuTime();
    layers.unpack(Content.digest(top), new ByteArrayInputStream(top), _ -> {});
    snapshots.create(key, List.of(base, Content.digest(top)));
    return threads.getCurrentThreadCpuTime() - before;
  }

  /** Deletions of trees that never end: containers are made beside them. */
  @Test
  void makingASnapshotWaitsForNoDeletion() throws Exception {
    Digest layer = unpack(TarEntry.file("f", "x"));
    var held = new CountDownLatch(1);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      try {
        for (int i = 0; i < 1000; i++) {
          threads.execute(
              () ->
                  BlockingPool.TREES.complete(
                      () -> {
                        awaitUninterrupted(held);
                        return true;
                      }));
        }
        Future<Boolean> made =
            threads.submit(
                () -> {
                  snapshots.create("beside", List.of(layer)).mount();
                  return true;
                });
        assertThat(made.get(60, TimeUnit.SECONDS)).isTrue();
      } finally {
        held.countDown();
      }
    }
    assertThat(home.resolve("beside/root/f")).exists();
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void removesASnapshotThatIsStillInUse() throws Exception {
    Digest layer = unpack(TarEntry.file("f", "x"));
    Snapshot snapshot = snapshots.create("busy", List.of(layer));
    snapshot.mount();
    try (var _ = Files.newInputStream(snapshot.root().resolve("f"))) {
      assertThatThrownBy(snapshot::unmount).hasMessageContaining("busy");
      assertThat(Mounts.mounted(snapshot.root())).isTrue();

      snapshot.remove();

      assertThat(home).isEmptyDirectory();
    }
  }

  @Test
  void refusesWhatItCannotMake() throws Exception {
    Digest layer = unpack(TarEntry.file("f", "x"));
    snapshots.create("taken", List.of(layer));
    assertThatThrownBy(() -> snapshots.create("taken", List.of(layer)))
        .isInstanceOf(FileAlreadyExistsException.class)
        .hasMessageContaining("taken");
    Digest absent = Content.digest(new byte[] {7});
    assertThatThrownBy(() -> snapshots.create("other", List.of(layer, absent)))
        .isInstanceOf(NoSuchFileException.class)
        .hasMessageContaining(absent.toString());
    assertThatThrownBy(() -> snapshots.create("../up", List.of(layer)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(snapshots.list()).extracting(Snapshot::key).containsExactly("taken");
  }

  @Test
  void openingSweepsWhatAKilledProcessLeft() throws Exception {
    Digest layer = unpack(TarEntry.file("f", "x"));
    Snapshot snapshot = snapshots.create("whole", List.of(layer));
    snapshot.mount();
    // as if killed between unmounting and deleting, while making one, and before a crash wrote it
    Snapshot dying = snapshots.create("dying", List.of(layer));
    dying.mount();
    Files.move(home.resolve("dying"), home.resolve(".old-dying-1"));
    Files.createDirectories(home.resolve(".new-half-1/upper/dir"));
    Files.createDirectories(home.resolve("empty"));
    Files.createFile(home.resolve("empty/snapshot.json"));

    Snapshots next = Snapshots.open(home, layers);

    assertThat(next.list()).extracting(Snapshot::key).containsExactly("whole");
    try (var names = Files.list(home)) {
      assertThat(names).hasSize(1);
    }
    assertThat(snapshot.root().resolve("f")).hasContent("x");
  }

  /** Adds, replaces and hides across four layers in every way. */
  private static MadeImage changes() {
    return ImageMaker.scratch()
        .layer(
            TarEntry.directory("."),
            TarEntry.directory("keep"),
            TarEntry.file("keep/a", "a"),
            TarEntry.file("keep/b", "b").withOwner(3, 4),
            TarEntry.directory("opaque"),
            TarEntry.file("opaque/hidden", "x"),
            TarEntry.directory("gone"),
            TarEntry.file("gone/x", "x"),
            TarEntry.file("file-to-dir", "x"),
            TarEntry.directory("dir-to-file"),
            TarEntry.file("dir-to-file/x", "x"),
            TarEntry.file("dir-to-link/x", "x"),
            TarEntry.directory("remade"),
            TarEntry.file("remade/old", "x"),
            TarEntry.characterDevice("null", 1, 3),
            TarEntry.file("one", "linked").withMode(0640),
            TarEntry.hardLink("two", "one").withMode(0640))
        .layer(
            TarEntry.directory("keep"),
            TarEntry.whiteout("keep/a"),
            TarEntry.directory("opaque").withMode(0700),
            TarEntry.opaque("opaque"),
            TarEntry.file("opaque/shown", "y"),
            TarEntry.whiteout("gone"),
            TarEntry.directory("file-to-dir"),
            TarEntry.file("file-to-dir/y", "y"),
            TarEntry.file("dir-to-file", "y"),
            TarEntry.symlink("dir-to-link", "keep"),
            TarEntry.whiteout("remade"),
            TarEntry.whiteout("null"))
        .layer(
            Compression.NONE,
            List.of(
                TarEntry.directory("remade").withMode(0711),
                TarEntry.file("remade/new", "z"),
                TarEntry.file("keep/a", "again")
                    .withMode(04755)
                    .withXattr("user.note", new byte[] {1})))
        .layer(TarEntry.directory("gone"), TarEntry.file("gone/z", "z"))
        .make();
  }

  private static List<String> withoutDirectoryTimes(Path tree) throws Exception {
    List<String> lines = new ArrayList<>();
    TreeListing.of(tree)
        .forEach(
            (path, line) -> {
              String plain = line.replaceAll(" trusted\\.overlay\\.\\w+=\\w+", "");
              lines.add(
                  path
                      + " = "
                      + (plain.startsWith("d")
                          ? plain.replaceAll(" [0-9.]+ links=\\d+", "")
                          : plain));
            });
    return lines;
  }

  private Digest unpack(TarEntry... entries) throws Exception {
    byte[] tar = TarWriter.archive(List.of(entries));
    layers.unpack(Content.digest(tar), new ByteArrayInputStream(tar), _ -> {});
    return Content.digest(tar);
  }

  private void run(String... arguments) throws Exception {
    TreeListing.run(directory, arguments);
  }
}

package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Rounds;
import dev.zlayer.bench.Rounds.Contestant;
import dev.zlayer.bench.engine.ContainerdEngine;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.Trees;
import dev.zlayer.bench.engine.ZlayerNode;
import dev.zlayer.bench.pull.CliPull;
import dev.zlayer.bench.pull.ContainerdPull;
import dev.zlayer.bench.pull.Gallery;
import dev.zlayer.bench.pull.LimitedRegistry;
import dev.zlayer.bench.pull.PodmanPull;
import dev.zlayer.bench.pull.PullOnce;
import dev.zlayer.bench.pull.ZlayerPull;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.ImageStore;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.PullRequest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Pulling an image of eight layers: cold, warm, with shared layers, and in a small heap; and one
 * large layer from a registry that limits each connection.
 */
public final class PullWork implements Work {
  private static final int CONNECTION_MEGABYTES = 50;

  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    ImageRef one = arena.gallery().one();
    ImageRef two = arena.gallery().two();
    return List.of(
        cold(arena, one),
        warm(arena, one),
        shared(arena, one, two),
        smallHeap(arena, one),
        limited(arena));
  }

  private static Report.Table cold(Arena arena, ImageRef image) throws Exception {
    var contestants = new ArrayList<Contestant>();
    if (arena.containerdWanted()) {
      Path directory = arena.directory("containerd-pull");
      contestants.add(new ContainerdPull(directory, arena.options().controlGroup()).cold(image));
    }
    if (arena.podmanWanted()) {
      contestants.add(
          new PodmanPull(arena.directory("podman-pull"), arena.options().controlGroup())
              .cold(image));
    }
    contestants.add(new ZlayerPull(arena.directory("pull")).cold(image));
    if (arena.daemon().isPresent()) {
      contestants.add(new CliPull(arena.program(), arena.directory("cli")).cold(image));
    }
    var rows = Rounds.run(contestants, arena.options().warm(2), arena.options().size(9, 2));
    return new Report.Table("cold pull and unpack, 8 layers", "ms", ContainerdEngine.NAME, rows);
  }

  private static Report.Table warm(Arena arena, ImageRef image) throws Exception {
    Path directory = arena.directory("warm");
    try (ImageStore store = ZlayerNode.store(DataDir.under(directory))) {
      var contestants = new ArrayList<Contestant>();
      arena
          .containerd()
          .ifPresent(
              peer ->
                  contestants.add(
                      Contestant.timed(peer.name(), () -> peer.pull(image.canonical()))));
      if (arena.podmanWanted()) {
        contestants.add(
            PodmanPull.warm(arena.home("podman-warm"), arena.options().controlGroup(), image));
      }
      contestants.add(Contestant.timed("zlayer", () -> pull(store, image)));
      arena.daemon().ifPresent(daemon -> contestants.add(CliPull.warm(daemon, image)));
      var rows = Rounds.run(contestants, arena.options().warm(5), arena.options().size(20, 3));
      return new Report.Table("warm pull, nothing changed", "ms", ContainerdEngine.NAME, rows);
    } finally {
      Trees.delete(directory);
    }
  }

  private static void pull(ImageStore store, ImageRef image) throws InterruptedException {
    store.images().pull(PullRequest.of(image, PullPolicy.NEWER), event -> {});
  }

  /** What travels for a second image that shares seven layers with the first. */
  private static Report.Table shared(Arena arena, ImageRef one, ImageRef two) throws Exception {
    Path directory = arena.directory("shared");
    var rows = new ArrayList<Report.Row>();
    try (ImageStore store = ZlayerNode.store(DataDir.under(directory))) {
      rows.add(sent(arena, "zlayer, first image", () -> pull(store, one)));
      rows.add(sent(arena, "zlayer, second image", () -> pull(store, two)));
    } finally {
      Trees.delete(directory);
    }
    return new Report.Table(
        "bytes sent for a second image with 7 of 8 layers",
        "MB",
        rows.getFirst().contestant(),
        rows);
  }

  private static Report.Row sent(Arena arena, String name, Rounds.Step pull) throws Exception {
    long before = arena.gallery().sent();
    pull.run();
    return Report.Row.of(name, (arena.gallery().sent() - before) / 1e6, "");
  }

  private static Report.Table limited(Arena arena) throws Exception {
    int megabytes = arena.options().size(1000, 200);
    Path directory = arena.directory("limited");
    try (var registry = new LimitedRegistry(directory, megabytes, CONNECTION_MEGABYTES)) {
      Contestant whole =
          new ZlayerPull(arena.directory("limited-whole"))
              .cold("zlayer, registry without ranges", registry.image(false));
      Contestant divided =
          new ZlayerPull(arena.directory("limited-ranges")).cold("zlayer", registry.image(true));
      var rows =
          Rounds.run(List.of(whole, divided), arena.options().warm(1), arena.options().size(5, 2));
      return new Report.Table(
          "cold pull of one layer of %d MB at %d MB/s per connection"
              .formatted(megabytes, CONNECTION_MEGABYTES),
          "ms",
          whole.name(),
          rows);
    } finally {
      Trees.delete(directory);
    }
  }

  private static Report.Table smallHeap(Arena arena, ImageRef image) throws Exception {
    Path directory = arena.directory("small");
    try {
      String told =
          Tool.run(
              Gallery.java(
                  PullOnce.class,
                  List.of("-Xmx128m", "-Xss512k"),
                  image.canonical(),
                  directory.toString(),
                  "1"));
      double millis = Double.parseDouble(told.substring(0, told.indexOf(' ')));
      return new Report.Table(
          "cold pull in a new JVM with a heap of 128 MB",
          "ms",
          "",
          List.of(Report.Row.of("zlayer", millis, told.strip())));
    } finally {
      Trees.delete(directory);
    }
  }
}

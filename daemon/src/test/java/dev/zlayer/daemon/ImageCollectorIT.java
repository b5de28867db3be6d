package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PullRequest;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY})
class ImageCollectorIT {
  @TempDir Path directory;

  @Test
  void aFullDiskLosesItsLongestUnusedImagesUntilTheLowWatermark() throws Exception {
    var clock = new FakeClock();
    var events = new MemoryStateStore();
    try (var registry = LocalRegistry.start();
        var store =
            ImageStore.open(
                DataDir.under(directory), ImagesConfig.of(Platform.parse("linux/amd64"), clock))) {
      ImageRef imported = ImageRef.parse("localhost/imported:1");
      byte[] root = TarWriter.archive(List.of(TarEntry.file("f", "imported")));
      store.images().importRoot(new ByteArrayInputStream(root), imported);
      clock.advance(Duration.ofHours(1));
      ImageRef oldest = pull(registry, store, "oldest");
      clock.advance(Duration.ofHours(1));
      ImageRef older = pull(registry, store, "older");
      clock.advance(Duration.ofHours(1));
      ImageRef recent = pull(registry, store, "recent");
      clock.advance(Duration.ofMinutes(5));

      // one image less, and the disk is as empty as is wanted
      round(store, events, clock, () -> store.images().list().size() > 3 ? 90 : 75);
      assertThat(references(store)).contains(imported, older, recent).doesNotContain(oldest);

      // nothing is enough: all go but what came from a file or was used a moment ago
      round(store, events, clock, () -> 99);
      assertThat(references(store)).containsExactlyInAnyOrder(imported, recent);
      assertThat(store.check().findings()).isEmpty();

      round(store, events, clock, () -> 84);
      List<String> kinds =
          events.events(0, 100).events().stream()
              .map(EventPage.Numbered::event)
              .map(event -> event.kind())
              .toList();
      assertThat(kinds)
          .containsExactly(
              "images.gc_started", "images.gc_finished", "images.gc_started", "images.gc_finished");
      var first = events.events(0, 100).events().getFirst().event().detail();
      assertThat(first.at("used_percent").integer()).contains(90L);
      var second = events.events(0, 100).events().get(1).event().detail();
      assertThat(second.at("removed").strings()).containsExactly(oldest.canonical());
      assertThat(second.at("reclaimed_bytes").integer().orElseThrow()).isPositive();
    }
  }

  @Test
  void watermarksHaveToBeInOrderUnlessItIsOff() {
    assertThatThrownBy(() -> new ImageCollector.Watermarks(80, 80))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("image_gc_low (80) has to be below image_gc_high (80)");
    assertThat(new ImageCollector.Watermarks(0, 75).high()).isZero();
    assertThat(ImageCollector.diskOf(directory).getAsInt()).isBetween(0, 100);
  }

  private static void round(
      ImageStore store,
      MemoryStateStore events,
      FakeClock clock,
      java.util.function.IntSupplier used)
      throws InterruptedException {
    var done = new CountDownLatch(1);
    try (var _ =
        ImageCollector.start(
            store.images(),
            events,
            new ImageCollector.Watermarks(85, 75),
            used,
            clock,
            _ -> {
              done.countDown();
              new CountDownLatch(1).await(); // until it is closed
            },
            Log.silent())) {
      assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static ImageRef pull(LocalRegistry registry, ImageStore store, String name)
      throws InterruptedException {
    ImageRef ref =
        registry.push(ImageMaker.scratch().layer(TarEntry.file(name, name)), name + ":1");
    store.images().pull(PullRequest.of(ref, PullPolicy.ALWAYS), _ -> {});
    return ref;
  }

  private static List<ImageRef> references(ImageStore store) {
    return store.images().list().stream().map(ImageInfo::references).flatMap(List::stream).toList();
  }
}

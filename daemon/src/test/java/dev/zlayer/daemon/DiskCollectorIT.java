package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DiskReserve;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
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
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY})
class DiskCollectorIT {
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
              "images.gc_started",
              "images.gc_finished",
              "images.gc_started",
              "images.gc_finished",
              "logs.gc_started",
              "logs.gc_finished");
      var first = events.events(0, 100).events().getFirst().event().detail();
      assertThat(first.at("used_percent").integer()).contains(90L);
      var second = events.events(0, 100).events().get(1).event().detail();
      assertThat(second.at("removed").strings()).containsExactly(oldest.canonical());
      assertThat(second.at("reclaimed_bytes").integer().orElseThrow()).isPositive();
    }
  }

  @Test
  void watermarksHaveToBeInOrderUnlessItIsOff() {
    assertThatThrownBy(() -> new DiskCollector.Watermarks(80, 80))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("image_gc_low (80) has to be below image_gc_high (80)");
    assertThat(new DiskCollector.Watermarks(0, 75).high()).isZero();
    assertThat(DiskCollector.diskOf(directory).getAsInt()).isBetween(0, 100);
  }

  /** Output over 64 KiB of an execution, and rotated output of a container that has exited. */
  @Test
  @Requires({Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
  void keptLogsFollowWhenImagesAreNotEnough() throws Exception {
    try (var node = new Node().with("network_pool", "0").with("image_gc_high", "0");
        var daemon = node.daemon();
        var rest = node.rest()) {
      Node.loadImage(rest);
      String run = "{name: \"%s\", pull_policy: never}".formatted(Node.IMAGE);
      String file =
          """
          version: v1
          deployment: work
          services:
            large: {rtype: job, image: %1$s, network_mode: none, command: [seq, "30000"]}
            small: {rtype: job, image: %1$s, network_mode: none, command: [echo, kept]}
            ended:
              image: %1$s
              network_mode: none
              command: [sh, -c, "seq 30000; exit 3"]
              logs: {max_size_bytes: 4Mi}
              errors: {on_panic: {action: isolate}}
          """
              .formatted(run);
      rest.put("/deployments/work", file.getBytes(StandardCharsets.UTF_8)).expect(202);
      String large = execution(rest, "large");
      String small = execution(rest, "small");
      Container ended =
          Awaitility.await()
              .atMost(Duration.ofSeconds(30))
              .until(() -> exited(daemon), Optional::isPresent)
              .orElseThrow();
      assertThat(text(ended)).isEqualTo(numbers(1));
      KeptLogs logs = new KeptLogs(daemon.agent().jobs(), daemon.agent().runtime());
      InstantSource later = () -> Instant.now().plus(Duration.ofHours(1));
      var events = new MemoryStateStore();

      round(daemon.agent().images(), logs, events, Instant::now, () -> 99);
      assertThat(text(ended)).as("it may be about to be read").isEqualTo(numbers(1));
      assertThat(raw(rest, large)).isEqualTo(numbers(1));

      round(daemon.agent().images(), logs, events, later, () -> 80);
      assertThat(raw(rest, large)).as("below the high watermark").isEqualTo(numbers(1));

      var started = new AtomicBoolean();
      round(
          daemon.agent().images(),
          logs,
          events,
          later,
          () -> {
            boolean announced =
                events.events(0, 100).events().stream()
                        .filter(numbered -> numbered.event().kind().equals("logs.gc_started"))
                        .count()
                    > 1;
            started.compareAndSet(false, announced && !raw(rest, large).isEmpty());
            return 99;
          });
      assertThat(started).as("the event came before anything was removed").isTrue();
      rest.get("/executions/" + large + "/logs").expect(404);
      assertThat(rest.get("/executions/" + large + "/logs").text())
          .contains("were removed because the disk was full");
      rest.get("/executions/" + large).expect(200);
      assertThat(raw(rest, small)).isEqualTo("kept\n");
      assertThat(text(ended)).endsWith("\n30000\n").isNotEqualTo(numbers(1));
      try (var reader = ended.logs(LogQuery.ALL)) {
        assertThat(reader.incomplete()).isTrue();
      }
      var last = events.events(0, 100).events().getLast().event();
      assertThat(last.kind()).isEqualTo("logs.gc_finished");
      assertThat(last.detail().at("reclaimed_bytes").integer().orElseThrow())
          .isGreaterThan(numbers(1).length());
    }
  }

  private static String numbers(int from) {
    return IntStream.rangeClosed(from, 30000).mapToObj(i -> i + "\n").collect(Collectors.joining());
  }

  private static String execution(Rest rest, String job) throws InterruptedException {
    String id =
        rest.post("/jobs/work/" + job + "/executions", "{}")
            .expect(201)
            .json()
            .at("id")
            .string()
            .orElseThrow();
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () ->
                rest.get("/executions/" + id)
                    .json()
                    .at("status")
                    .string()
                    .equals(Optional.of("completed")));
    return id;
  }

  private static Optional<Container> exited(Daemon daemon) {
    return daemon.agent().runtime().list().stream()
        .filter(container -> container.id().service().equals("ended"))
        .filter(container -> container.status() instanceof ContainerStatus.Exited)
        .findFirst();
  }

  private static String raw(Rest rest, String execution) {
    try {
      return new String(
          rest.bytes("/executions/" + execution + "/logs?format=raw"), StandardCharsets.UTF_8);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static String text(Container container) throws InterruptedException {
    var text = new StringBuilder();
    try (var reader = container.logs(LogQuery.ALL)) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        text.append(line.get().text()).append(line.get().partial() ? "" : "\n");
      }
    }
    return text.toString();
  }

  private void round(ImageStore store, MemoryStateStore events, FakeClock clock, IntSupplier used)
      throws InterruptedException {
    round(store, (_, _) -> 0, events, clock, used);
  }

  private void round(
      ImageStore store,
      DiskCollector.Logs logs,
      MemoryStateStore events,
      InstantSource clock,
      IntSupplier used)
      throws InterruptedException {
    round(store, logs, events, DiskReserve.open(directory.resolve("reserve")), clock, used);
  }

  static void round(
      ImageStore store,
      DiskCollector.Logs logs,
      StateStore events,
      DiskReserve reserve,
      InstantSource clock,
      IntSupplier used)
      throws InterruptedException {
    var done = new CountDownLatch(1);
    try (var _ =
        DiskCollector.start(
            store.images(),
            logs,
            events,
            reserve,
            new DiskCollector.Watermarks(85, 75),
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

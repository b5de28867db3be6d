package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A disk that is really full, down to the last byte. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DiskReserveIT {
  private Node node;
  private Path disk;

  @BeforeEach
  void mount() throws Exception {
    node = new Node().with("network_pool", "0");
    disk = Files.createDirectory(node.directory.resolve("disk"));
    Processes.check(
        Command.of("mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", disk.toString()),
        Deadline.after(Duration.ofMinutes(1)));
    node.with("data_dir", disk.toString());
  }

  @AfterEach
  void unmount() throws Exception {
    Files.deleteIfExists(disk.resolve("ballast"));
    node.close();
  }

  private void fill() throws IOException {
    try (OutputStream ballast = Files.newOutputStream(disk.resolve("ballast"))) {
      for (int size = 1 << 20; size > 0; size /= 2) {
        fill(ballast, new byte[size]);
      }
    }
  }

  private static void fill(OutputStream ballast, byte[] block) {
    try {
      while (true) {
        ballast.write(block);
      }
    } catch (IOException _) {
      // no space is left for a block of this size
    }
  }

  private static Rest.Reply create(Rest rest, String name) throws InterruptedException {
    return rest.post(
        "/containers",
        "{\"name\":\"%s\",\"image\":\"%s\",\"pull\":\"never\",\"network_mode\":\"none\",\"command\":[\"sleep\",\"1000\"]}"
            .formatted(name, Node.IMAGE));
  }

  @Test
  void onAFullDiskThingsCanBeRemovedAndNothingIsMadeAndItIsSaid() throws Exception {
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      create(rest, "one").expect(201);
      create(rest, "two").expect(201);
      create(rest, "three").expect(201);
      rest.get("/health/ready").expect(200);
      fill();

      assertThat(rest.get("/health/ready").expect(503).json().at("parts").at("creates").string())
          .hasValueSatisfying(text -> assertThat(text).contains("no space is left"));
      assertThat(create(rest, "four").expect(429).json().at("detail").string())
          .hasValueSatisfying(text -> assertThat(text).contains("no space is left"));
      rest.post("/containers/one/stop?grace=0s").expect(200);
      rest.delete("/containers/one").expect(204);
      rest.delete("/containers/two?force=true").expect(204);
      rest.post("/images/prune", "{}").expect(200);
      first.kill();
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      rest.get("/health/ready").expect(503);
      rest.delete("/containers/three?force=true").expect(204);
      Files.delete(disk.resolve("ballast"));
      rest.get("/health/ready").expect(200);
      create(rest, "five").expect(201);
      assertThat(disk.resolve("reserve")).hasSize(16 << 20);
    }
  }

  /** Without a byte left, not even for the event that it announces itself with. */
  @Test
  @Requires(Fact.DOCKER_REGISTRY)
  void theCollectorOfImagesNeedsNoSpace() throws Exception {
    try (LocalRegistry registry = LocalRegistry.start();
        Daemon daemon = node.daemon();
        Rest rest = node.rest()) {
      ImageRef image =
          registry.push(ImageMaker.scratch().layer(TarEntry.file("f", "unused")), "unused:1");
      rest.post("/images/pull", "{\"ref\":\"%s\"}".formatted(image.canonical())).expect(200);
      fill();
      var filler = new Event(Instant.EPOCH, "filler", "x".repeat(1 << 20), Json.object().build());
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 100; i++) { // the store has some space of its own
                  daemon.agent().store().commit(Change.of(filler));
                }
              })
          .hasMessageContaining("no space is left");

      DiskCollectorIT.round(
          daemon.agent().images(),
          (_, _) -> 0,
          daemon.agent().store(),
          daemon.agent().reserve(),
          () -> Instant.now().plus(Duration.ofHours(1)),
          DiskCollector.diskOf(disk));

      assertThat(rest.get("/images").expect(200).text()).doesNotContain("unused:1");
      assertThat(rest.get("/events?kind=images.gc_finished").expect(200).text())
          .contains(image.canonical());
    }
  }
}

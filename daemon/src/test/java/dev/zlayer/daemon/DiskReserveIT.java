package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A disk that is really full, down to the last byte. */
@Timeout(180)
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
}

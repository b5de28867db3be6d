package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Images whose files take long to delete, and containers that are made meanwhile. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class RemoveWhileCreatingIT {
  private static final String LARGE = "localhost/large:1";
  private static final int FILES = 60_000;

  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  /** All links to one file, which are made quickly and deleted one by one. */
  private static byte[] large() {
    List<TarEntry> entries = new ArrayList<>();
    entries.add(TarEntry.file("f", "x"));
    for (int i = 0; i < FILES; i++) {
      entries.add(TarEntry.hardLink("d%d/l%d".formatted(i % 100, i), "f"));
    }
    return ImageMaker.scratch().layer(entries).make().ociArchive(LARGE);
  }

  @Test
  void containersAreMadeWhileAnImageIsDeleted() throws Exception {
    byte[] archive = large();
    try (Daemon _ = node.daemon();
        Rest rest = node.rest();
        Rest other = node.rest();
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Node.loadImage(rest);
      create(rest, "before");
      int during = 0;
      // how long a deletion takes is up to the file system: it may be over too soon to tell
      for (int round = 0; round < 8 && during == 0; round++) {
        rest.postBytes("/images/load", archive).expect(200);
        Future<Rest.Reply> deletion =
            threads.submit(() -> other.delete("/images?ref=" + LARGE).expect(200));
        Awaitility.await()
            .atMost(Duration.ofSeconds(30))
            .pollInterval(Duration.ofMillis(1))
            .until(() -> !rest.get("/images").expect(200).text().contains(LARGE));
        create(rest, "during" + round);
        during += deletion.isDone() ? 0 : 1;
        deletion.get(60, TimeUnit.SECONDS);
      }
      assertThat(during).as("containers made while the image was being deleted").isPositive();
    }
  }

  private static void create(Rest rest, String name) throws InterruptedException {
    rest.post(
            "/containers",
            ("{\"name\":\"%s\",\"image\":\"%s\",\"pull\":\"never\",\"network_mode\":\"none\","
                    + "\"start\":false,\"command\":[\"true\"]}")
                .formatted(name, Node.IMAGE))
        .expect(201);
  }
}

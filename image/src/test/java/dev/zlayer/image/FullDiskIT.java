package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.image.store.StoreFinding;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY})
class FullDiskIT {
  @TempDir Path temp;
  private Path small;
  private LocalRegistry registry;

  @BeforeEach
  void start() throws Exception {
    small = Files.createDirectory(temp.resolve("small"));
    run("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", small.toString());
    registry = LocalRegistry.start();
  }

  @AfterEach
  void stop() throws InterruptedException {
    registry.close();
    run("umount", small.toString());
  }

  private static void run(String... arguments) throws InterruptedException {
    Processes.check(Command.of(arguments), Deadline.after(Duration.ofSeconds(10)));
  }

  private static byte[] noise(int size) {
    var bytes = new byte[size];
    new Random(1).nextBytes(bytes);
    return bytes;
  }

  @Test
  void saysWhatIsNeededBeforeItBegins() {
    ImageRef ref =
        registry.push(ImageMaker.scratch().layer(TarEntry.file("a", noise(8_000_000))), "a:v1");
    try (var store = TestStore.in(small)) {
      assertThatThrownBy(() -> store.pull(ref, PullPolicy.ALWAYS))
          .isInstanceOf(AgentException.PullFailed.class)
          .hasMessageContaining("not enough space below " + small)
          .hasMessageContaining("7.6 MiB needed");
    }
  }

  @Test
  void saysWhereTheDiskIsFullWhenItHappensLater() throws Exception {
    ImageRef ref =
        registry.push(ImageMaker.scratch().layer(TarEntry.file("a", noise(4_000_000))), "a:v1");
    try (var store = TestStore.in(small)) {
      assertThatThrownBy(() -> store.pull(ref, PullPolicy.ALWAYS))
          .isInstanceOf(AgentException.PullFailed.class)
          .hasMessageContaining("disk is full")
          .hasMessageContaining(small.toString());
      assertThat(store.images.list()).isEmpty();
      assertThat(store.store.check().findings()).noneMatch(StoreFinding::damage);
      byte[] archive =
          ImageMaker.scratch()
              .layer(Compression.NONE, List.of(TarEntry.file("b", noise(7_000_000))))
              .make()
              .ociArchive("b:v1");
      assertThatThrownBy(() -> store.images.load(new ByteArrayInputStream(archive)))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("disk is full");
      ImageRef fits =
          registry.push(ImageMaker.scratch().layer(TarEntry.file("a", "small")), "fits:v1");
      store.images.prune(dev.zlayer.port.PruneFilter.DANGLING);
      store.pull(fits, PullPolicy.ALWAYS);
      assertThat(store.store.check().findings()).isEmpty();
    }
  }
}

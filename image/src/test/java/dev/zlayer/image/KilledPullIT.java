package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.image.store.StoreFinding;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code kill -9} at every step; whatever it left, the next pull works and nothing is lost. */
@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY})
class KilledPullIT {
  @TempDir Path temp;

  private static MadeImage image() {
    ImageMaker maker = ImageMaker.scratch();
    for (int i = 0; i < 3; i++) {
      var bytes = new byte[3_000_000];
      new Random(i).nextBytes(bytes);
      maker = maker.layer(TarEntry.directory("d"), TarEntry.file("d/" + i, bytes));
    }
    return maker.make();
  }

  @ParameterizedTest
  @CsvSource({
    "WAITING, 1",
    "DOWNLOADING, 1",
    "DOWNLOADING, 20",
    "DOWNLOADING, 60",
    "VERIFYING, 1",
    "VERIFYING, 3",
    "UNPACKING, 1",
    "UNPACKING, 3",
    "DONE, 1",
    "DONE, 3" // all layers are here, the index does not know yet
  })
  void theNextPullWorks(String step, String count) throws Exception {
    Path data = temp.resolve("data");
    MadeImage made = image();
    try (var registry = LocalRegistry.start()) {
      ImageRef ref = registry.push(made, "app:v1");
      try (var pull = new PullProcess(List.of(), data, ref.canonical(), step, count)) {
        assertThat(pull.line()).isEqualTo("reached");
        pull.kill();
      }
      try (var store = TestStore.in(data)) {
        assertThat(store.images.list()).isEmpty();
        assertThat(store.store.check().findings()).noneMatch(StoreFinding::damage);
        assertThat(store.pull(ref, PullPolicy.IF_NOT_PRESENT).digest()).isEqualTo(made.digest());
        assertThat(store.store.check().findings()).isEmpty();
        assertThat(store.images.layers(ref))
            .allMatch(layer -> layer.resolve("d").toFile().exists());
      }
      long sent =
          registry.requests().stream()
              .filter(
                  request -> request.method().equals("GET") && request.path().contains("/blobs/"))
              .filter(request -> request.bytes() > 1_000_000)
              .count();
      assertThat(sent).as("requests for layers").isLessThanOrEqualTo(6);
    }
  }

  @ParameterizedTest
  @CsvSource({"DOWNLOADING, 20", "DONE, 2"})
  void whatWasLeftCanBeRepairedAway(String step, String count) throws Exception {
    Path data = temp.resolve("data");
    try (var registry = LocalRegistry.start()) {
      ImageRef ref = registry.push(image(), "app:v1");
      try (var pull = new PullProcess(List.of(), data, ref.canonical(), step, count)) {
        assertThat(pull.line()).isEqualTo("reached");
      }
      try (var store = TestStore.in(data)) {
        assertThat(store.store.repair().findings()).isNotEmpty();
        assertThat(store.store.check().findings()).isEmpty();
        assertThat(store.store.check().blobs()).isZero();
      }
    }
  }
}

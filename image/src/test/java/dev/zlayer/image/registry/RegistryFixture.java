package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.registry.RegistryException.Problem;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A fake registry with one image, a store, and a client that does not really wait. */
abstract class RegistryFixture {
  /** A body may be silent for longer than a busy machine keeps its sender from the processor. */
  static final Timeouts USUAL =
      new Timeouts(
          Duration.ofSeconds(5),
          Duration.ofSeconds(5),
          Duration.ofSeconds(1),
          Duration.ofSeconds(3));

  static final BlobListener SILENT =
      new BlobListener() {
        @Override
        public void received(long bytes) {}

        @Override
        public void verifying() {}
      };

  static final byte[] NOT_TLS =
      "HTTP/1.0 400 Bad Request\r\n\r\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII);

  @TempDir Path temp;
  final List<Duration> pauses = new ArrayList<>();
  final List<String> notices = new ArrayList<>();
  final MadeImage image =
      ImageMaker.scratch().layer(TarEntry.file("noise", noise(2_000_000))).make();
  final Content layer = image.layers().getFirst().blob();
  Timeouts timeouts = USUAL;
  FakeRegistry fake;
  ImageRef ref;
  DiskContentStore content;

  @BeforeEach
  void start() throws IOException {
    fake = new FakeRegistry();
    ref = fake.serve(image, "app:v1");
    content = DiskContentStore.open(DataDir.under(temp));
  }

  @AfterEach
  void stop() {
    fake.close();
  }

  static byte[] noise(int size) {
    var bytes = new byte[size];
    new Random(7).nextBytes(bytes);
    return bytes;
  }

  Registry registry(RegistriesConfig config, Credentials credentials) {
    return new Registry(
        config,
        ForwardProxies.NONE,
        credentials,
        timeouts,
        InstantSource.system(),
        pauses::add,
        division());
  }

  RangesAhead.Division division() {
    return RangesAhead.Division.DEFAULT;
  }

  @FunctionalInterface
  interface Use {
    void with(Repository repository) throws IOException, InterruptedException;
  }

  void use(Use use) throws IOException, InterruptedException {
    use(RegistriesConfig.EMPTY, Credentials.NONE, use);
  }

  void use(RegistriesConfig config, Credentials credentials, Use use)
      throws IOException, InterruptedException {
    try (Registry registry = registry(config, credentials)) {
      use.with(registry.repository(ref, Optional.empty(), notices::add));
    }
  }

  void fetchLayer() throws IOException, InterruptedException {
    use(this::fetchLayer);
  }

  void fetchLayer(Repository repository) throws IOException, InterruptedException {
    try (Ingest ingest = content.ingest(layer.digest(), layer.size())) {
      repository.blob(ingest, SILENT);
    }
  }

  static void assertProblem(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable call, Problem problem, String text) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.problem()).isEqualTo(problem))
        .hasMessageContaining(text);
  }
}

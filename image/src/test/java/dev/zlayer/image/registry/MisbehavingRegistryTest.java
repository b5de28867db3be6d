package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.registry.RegistryException.Problem;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MisbehavingRegistryTest extends RegistryFixture {
  @Test
  void wrongContentIsRefusedAndLeavesNothing() throws Exception {
    byte[] wrong = layer.bytes().clone();
    wrong[1000] ^= 1;
    fake.behave(
        exchange ->
            fake.asksFor(exchange, layer.digest())
                && sent(exchange, new Content("x", wrong, layer.digest())));
    assertProblem(this::fetchLayer, Problem.UNSOUND, "digest");
    assertThat(content.has(layer.digest())).isFalse();
    assertThat(temp.resolve("images/ingest")).isEmptyDirectory();
    fake.behave(_ -> false);
    fetchLayer();
    assertThat(content.has(layer.digest())).isTrue();
  }

  @Test
  void wrongLengthIsRefusedBeforeAnythingIsRead() {
    fake.behave(
        exchange ->
            fake.asksFor(exchange, layer.digest())
                && sent(exchange, new Content("x", new byte[10], layer.digest())));
    assertProblem(this::fetchLayer, Problem.UNSOUND, "announced with 10 bytes");
    assertThat(pauses).isEmpty();
  }

  @Test
  void endlessBodyIsCutOff() {
    fake.behave(
        exchange -> {
          if (!fake.asksFor(exchange, layer.digest())) {
            return false;
          }
          exchange.sendResponseHeaders(200, 0); // chunked: no length announced
          try {
            while (true) {
              exchange.getResponseBody().write(layer.bytes());
            }
          } catch (IOException _) {
            return true;
          }
        });
    assertProblem(this::fetchLayer, Problem.UNSOUND, "longer than");
  }

  @Test
  void cutConnectionIsResumedWhereItBroke() throws Exception {
    var cuts = new AtomicInteger();
    fake.behave(
        exchange -> {
          if (!fake.asksFor(exchange, layer.digest()) || cuts.incrementAndGet() > 2) {
            return false;
          }
          int from = cuts.get() == 1 ? 0 : 700_000;
          return FakeRegistry.cut(exchange, layer, from, from + 700_000);
        });
    fetchLayer();
    assertThat(content.path(layer.digest())).hasBinaryContent(layer.bytes());
    assertThat(fake.seen.stream().map(FakeRegistry.Seen::range))
        .containsExactly("null", "bytes=700000-", "bytes=1400000-");
    assertThat(notices).hasSize(2).allMatch(text -> text.contains("trying again"));
  }

  @Test
  void resumesAfterTheProcessDied() throws Exception {
    try (Ingest ingest = content.ingest(layer.digest(), layer.size())) {
      ingest.append(ByteBuffer.wrap(layer.bytes(), 0, 1_000_000));
    }
    DiskContentStore again = DiskContentStore.open(DataDir.under(temp));
    try (Ingest ingest = again.ingest(layer.digest(), layer.size())) {
      use(repository -> repository.blob(ingest, SILENT));
    }
    assertThat(fake.seen).singleElement().matches(s -> s.range().equals("bytes=1000000-"));
    assertThat(content.path(layer.digest())).hasBinaryContent(layer.bytes());
  }

  @Test
  void rottenPrefixIsThrownAway() throws Exception {
    try (Ingest ingest = content.ingest(layer.digest(), layer.size())) {
      ingest.append(ByteBuffer.wrap(new byte[1_000_000]));
    }
    fetchLayer();
    assertThat(fake.seen.stream().map(FakeRegistry.Seen::range))
        .containsExactly("bytes=1000000-", "null");
    assertThat(content.path(layer.digest())).hasBinaryContent(layer.bytes());
  }

  @Test
  void aServerThatIgnoresRangesIsReadFromTheStart() throws Exception {
    try (Ingest ingest = content.ingest(layer.digest(), layer.size())) {
      ingest.append(ByteBuffer.wrap(layer.bytes(), 0, 1_000_000));
    }
    fake.behave(
        exchange -> {
          exchange.sendResponseHeaders(200, layer.size());
          exchange.getResponseBody().write(layer.bytes());
          return true;
        });
    fetchLayer();
    assertThat(fake.seen).hasSize(1);
    assertThat(content.path(layer.digest())).hasBinaryContent(layer.bytes());
  }

  @Test
  void stalledBodyIsGivenUpAndTriedAgain() throws Exception {
    timeouts =
        new Timeouts(
            USUAL.connect(), USUAL.answer(), Duration.ofMillis(200), USUAL.longestRetryAfter());
    var tries = new AtomicInteger();
    fake.behave(
        exchange ->
            fake.asksFor(exchange, layer.digest())
                && tries.incrementAndGet() == 1
                && fake.stall(exchange, layer, 500_000));
    fetchLayer();
    assertThat(notices).first().asString().contains("no data for 200ms");
    assertThat(content.has(layer.digest())).isTrue();
  }

  @Test
  void triesThatGetNowhereAreCounted() {
    fake.behave(
        exchange ->
            fake.asksFor(exchange, layer.digest()) && FakeRegistry.cut(exchange, layer, 0, 0));
    assertProblem(this::fetchLayer, Problem.BROKEN, fake.host());
    assertThat(fake.count("GET", "/blobs/")).isEqualTo(5);
    assertThat(pauses).hasSize(4);
  }

  @Test
  void busyRegistryIsAskedAgainWhenItSaidSo() throws Exception {
    var tries = new AtomicInteger();
    fake.behave(
        exchange ->
            switch (tries.incrementAndGet()) {
              case 1 -> retryAfter(exchange, 429, "2");
              case 2 -> retryAfter(exchange, 503, "86400");
              case 3 -> FakeRegistry.text(exchange, 500, "");
              default -> false;
            });
    use(repository -> assertThat(repository.manifest("v1").digest()).isEqualTo(image.digest()));
    assertThat(pauses.subList(0, 2)).containsExactly(Duration.ofSeconds(2), Duration.ofSeconds(3));
    assertThat(pauses.get(2)).isLessThanOrEqualTo(Duration.ofSeconds(2));
  }

  @Test
  void absentImageIsToldOnceWithTheRegistrysWordsMadeHarmless() {
    assertProblem(
        () -> use(repository -> repository.manifest("v2")), Problem.ABSENT, "not  [31mhere");
    assertThat(fake.seen).hasSize(1);
  }

  @Test
  void oversizedManifestIsRefused() {
    fake.behave(
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          try {
            for (int i = 0; i < 100; i++) {
              exchange.getResponseBody().write(new byte[1 << 20]);
            }
          } catch (IOException _) {
            return true;
          }
          return true;
        });
    assertProblem(
        () -> use(repository -> repository.manifest("v1")), Problem.UNSOUND, "over 4194304 bytes");
  }

  @Test
  void manifestThatIsNotWhatWasAskedForIsRefused() {
    Content other = ImageMaker.scratch().make().manifest();
    fake.behave(
        exchange -> {
          exchange.getResponseHeaders().set("Docker-Content-Digest", image.digest().toString());
          return FakeRegistry.text(
              exchange, 200, new String(other.bytes(), java.nio.charset.StandardCharsets.UTF_8));
        });
    assertProblem(
        () -> use(repository -> repository.manifest(image.digest().toString())),
        Problem.UNSOUND,
        "instead of " + image.digest());
    assertProblem(
        () -> use(repository -> repository.manifest("v1")), Problem.UNSOUND, "instead of");
  }

  @Test
  void redirectLoopsEnd() {
    fake.behave(
        exchange -> {
          exchange.getResponseHeaders().set("Location", exchange.getRequestURI().toString());
          return FakeRegistry.text(exchange, 302, "");
        });
    assertProblem(this::fetchLayer, Problem.UNSOUND, "more than 5 times");
  }

  @Test
  void smallBlobIsVerifiedToo() throws Exception {
    Content config = image.config().orElseThrow();
    var descriptor = Descriptor.of("x", config.digest(), config.size());
    use(repository -> assertThat(repository.bytes(descriptor, 1 << 20)).isEqualTo(config.bytes()));
    fake.behave(exchange -> FakeRegistry.text(exchange, 200, "{}"));
    assertProblem(
        () -> use(repository -> repository.bytes(descriptor, 1 << 20)),
        Problem.UNSOUND,
        "something else");
  }

  private static boolean sent(com.sun.net.httpserver.HttpExchange exchange, Content content)
      throws IOException {
    FakeRegistry.send(exchange, content);
    return true;
  }

  private static boolean retryAfter(
      com.sun.net.httpserver.HttpExchange exchange, int status, String value) throws IOException {
    exchange.getResponseHeaders().set("Retry-After", value);
    return FakeRegistry.text(exchange, status, "");
  }
}

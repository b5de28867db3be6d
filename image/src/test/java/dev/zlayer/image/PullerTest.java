package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.registry.FakeRegistry;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pulls of modules, which need no rights to unpack, from a registry that plays tricks. */
class PullerTest {
  @TempDir Path temp;
  private FakeRegistry registry;
  private TestStore store;

  @BeforeEach
  void start() throws Exception {
    registry = new FakeRegistry();
    store = TestStore.in(temp.resolve("data"));
  }

  @AfterEach
  void stop() {
    store.close();
    registry.close();
  }

  private static MadeImage module(int seed) {
    var bytes = new byte[500_000];
    new Random(seed).nextBytes(bytes);
    return ImageMaker.wasm(bytes);
  }

  private static Content index(Content child) {
    String text =
        "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%d}]}"
            .formatted(child.mediaType(), child.digest(), child.size());
    return Content.of(
        "application/vnd.oci.image.index.v1+json", text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void contentThatChangesBetweenTheQuestionsIsTakenAsItIsThen() throws Exception {
    ImageRef ref = registry.serve(module(1), "app:v1");
    store.pull(ref, PullPolicy.NEWER);
    MadeImage second = module(2);
    MadeImage third = module(3);
    registry.serve(third, "app:v1");
    registry.behave(
        exchange -> {
          if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.getResponseHeaders().set("Docker-Content-Digest", second.digest().toString());
            return FakeRegistry.text(exchange, 200, "");
          }
          return false; // the second is gone by now
        });
    assertThat(store.pull(ref, PullPolicy.NEWER).digest()).isEqualTo(third.digest());
    assertThat(store.notices()).singleElement().asString().contains("asking for the tag again");
  }

  @Test
  void anIndexThatLeadsToIndexesForeverIsLeft() {
    MadeImage made = module(1);
    ImageRef ref = registry.serve(made, "deep:v0");
    Content at = made.manifest();
    for (int i = 0; i < 3; i++) {
      at = index(at);
      registry.serveManifest("v" + i, at);
    }
    ImageRef three = ImageRef.parse(ref.name() + ":v2");
    assertThat(pulled(three)).isEqualTo(made.digest());
    for (int i = 3; i < 20; i++) {
      at = index(at);
      registry.serveManifest("v" + i, at);
    }
    registry.seen.clear();
    assertThatThrownBy(() -> store.pull(ImageRef.parse(ref.name() + ":v19"), PullPolicy.ALWAYS))
        .isInstanceOf(AgentException.PullFailed.class)
        .hasMessageContaining("more than 4 other indexes");
    assertThat(registry.seen).hasSizeLessThan(6);
  }

  private Digest pulled(ImageRef ref) {
    try {
      return store.pull(ref, PullPolicy.ALWAYS).digest();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void pullsOfTheSameContentShareItsDownload() throws Exception {
    MadeImage made = module(1);
    var refs = new ArrayList<ImageRef>();
    for (String name : List.of("a:v1", "b:v1", "c:v1", "a:v1")) {
      refs.add(registry.serve(made, name));
    }
    try (var scope = new TaskScope("pulls")) {
      for (ImageRef ref : refs) {
        scope.fork(() -> store.images.pull(PullRequest.of(ref, PullPolicy.ALWAYS), _ -> {}));
      }
      scope.join();
    }
    Digest layer =
        made.layers().isEmpty()
            ? made.blobs().getLast().digest()
            : made.layers().getFirst().blob().digest();
    assertThat(registry.count("GET", "/blobs/" + layer)).isEqualTo(1);
    assertThat(store.images.list()).singleElement().matches(info -> info.references().size() == 3);
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void pruningNeverTakesWhatAPullIsAboutToUse() throws Exception {
    MadeImage made = module(1);
    ImageRef ref = registry.serve(made, "a:v1");
    for (int round = 0; round < 20; round++) {
      try (var scope = new TaskScope("race")) {
        scope.fork(() -> store.images.pull(PullRequest.of(ref, PullPolicy.ALWAYS), _ -> {}));
        scope.fork(
            () -> store.images.prune(new dev.zlayer.port.PruneFilter(true, Optional.empty())));
        scope.join();
      }
      assertThat(store.store.check().findings())
          .noneMatch(dev.zlayer.image.store.StoreFinding::damage);
    }
  }

  @Test
  void interruptedPullEndsAtOnceAndGoesOnLater() throws Exception {
    MadeImage made = module(1);
    Content layer = made.blobs().getLast();
    ImageRef ref = registry.serve(made, "a:v1");
    registry.behave(
        exchange ->
            registry.asksFor(exchange, layer.digest()) && registry.stall(exchange, layer, 200_000));
    var started = new CountDownLatch(1);
    var outcome = new AtomicReference<Throwable>();
    Thread thread =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    store.images.pull(
                        PullRequest.of(ref, PullPolicy.ALWAYS),
                        event -> {
                          if (event instanceof PullEvent.LayerProgress(_, _, var done, _)
                              && done > 100_000) {
                            started.countDown();
                          }
                        });
                  } catch (Throwable e) {
                    outcome.set(e);
                  }
                });
    started.await();
    thread.interrupt();
    thread.join(java.time.Duration.ofSeconds(10));
    assertThat(outcome.get()).isInstanceOf(InterruptedException.class);
    assertThat(store.images.list()).isEmpty();
    registry.behave(_ -> false);
    store.pull(ref, PullPolicy.ALWAYS);
    assertThat(registry.seen.getLast().range()).startsWith("bytes=");
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void platformAnswersAreThreeDifferentOnes() throws Exception {
    ImageRef ref = registry.serve(module(1), "a:v1");
    assertThat(store.images.platformOf(ref, Optional.empty()))
        .isInstanceOf(PlatformAnswer.Recognised.class);
    registry.serveManifest("v1", index(module(1).manifest()));
    assertThat(store.images.platformOf(ref, Optional.empty()))
        .isInstanceOf(PlatformAnswer.Unrecognised.class);
    registry.behave(exchange -> FakeRegistry.text(exchange, 404, ""));
    assertThat(store.images.platformOf(ref, Optional.empty()))
        .isInstanceOf(PlatformAnswer.Failing.class);
    registry.behave(exchange -> FakeRegistry.text(exchange, 200, "{\"schemaVersion\":1}"));
    assertThat(store.images.platformOf(ref, Optional.empty()))
        .isInstanceOfSatisfying(
            PlatformAnswer.Unrecognised.class, a -> assertThat(a.reason()).contains("schema 1"));
    assertThat(store.images.list()).isEmpty();
  }
}

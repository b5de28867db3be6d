package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullEvent.Step;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Compression;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import dev.zlayer.testkit.registry.LocalRegistry.Options;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY})
class LocalImagesIT {
  @TempDir Path temp;
  private LocalRegistry registry;
  private TestStore store;

  @BeforeEach
  void start() {
    registry = LocalRegistry.start();
    store = TestStore.in(temp.resolve("data"));
  }

  @AfterEach
  void stop() {
    store.close();
    registry.close();
  }

  private static byte[] noise(int seed, int size) {
    var bytes = new byte[size];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static ImageMaker app() {
    return ImageMaker.scratch()
        .layer(TarEntry.file("base", noise(1, 300_000)))
        .layer(Compression.ZSTD, List.of(TarEntry.file("zstd", noise(2, 5_000))))
        .layer(Compression.NONE, List.of(TarEntry.file("plain", "plain\n")))
        .env("A", "b")
        .entrypoint("/base")
        .label("team", "blue");
  }

  @Test
  void pullsUnpacksAndDescribes() throws InterruptedException {
    MadeImage made = app().make();
    ImageRef ref = registry.push(made, "team/app:v1");
    var info = store.pull(ref, PullPolicy.ALWAYS);
    assertThat(info.digest()).isEqualTo(made.digest());
    assertThat(info.references()).containsExactly(ref);
    assertThat(info.platform()).contains(TestStore.AMD64);
    assertThat(store.events.getFirst()).isInstanceOf(PullEvent.Resolved.class);
    for (var layer : made.layers()) {
      assertThat(store.steps(layer.blob().digest()))
          .startsWith(Step.WAITING)
          .containsSubsequence(Step.DOWNLOADING, Step.VERIFYING, Step.UNPACKING, Step.DONE)
          .endsWith(Step.DONE);
    }
    List<Path> layers = store.images.layers(ref);
    assertThat(layers.get(0).resolve("base")).hasBinaryContent(noise(1, 300_000));
    assertThat(layers.get(1).resolve("zstd")).hasBinaryContent(noise(2, 5_000));
    assertThat(layers.get(2).resolve("plain")).hasContent("plain\n");
    var details = store.images.find(ref).orElseThrow();
    assertThat(details.run().env()).contains("A=b");
    assertThat(details.run().labels()).containsEntry("team", "blue");
    assertThat(details.layers()).hasSize(3);
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void newerAsksOnceAndMovesWithTheTag() throws InterruptedException {
    ImageRef ref = registry.push(app(), "app:v1");
    store.pull(ref, PullPolicy.NEWER);
    int before = registry.requests().size();
    store.pull(ref, PullPolicy.NEWER);
    assertThat(registry.requests().subList(before, registry.requests().size()))
        .singleElement()
        .matches(request -> request.method().equals("HEAD"));
    MadeImage next = app().layer(TarEntry.file("more", "more")).make();
    registry.push(next, "app:v1");
    before = registry.requests().size();
    var info = store.pull(ref, PullPolicy.NEWER);
    assertThat(info.digest()).isEqualTo(next.digest());
    assertThat(registry.requests().subList(before, registry.requests().size()))
        .filteredOn(request -> request.path().contains("/blobs/"))
        .hasSize(2); // configuration and the one new layer
    assertThat(store.images.list()).hasSize(2);
    assertThat(store.images.prune(PruneFilter.DANGLING).deleted()).isNotEmpty();
    assertThat(store.images.list()).hasSize(1);
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void policiesDecideAboutTheNetwork() throws InterruptedException {
    ImageRef ref = registry.push(app(), "app:v1");
    assertThatThrownBy(() -> store.pull(ref, PullPolicy.NEVER))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining("app:v1");
    int before = registry.requests().size();
    assertThat(registry.requests()).hasSize(before);
    store.pull(ref, PullPolicy.IF_NOT_PRESENT);
    before = registry.requests().size();
    store.pull(ref, PullPolicy.IF_NOT_PRESENT);
    store.pull(ref, PullPolicy.NEVER);
    store.pull(ref.withDigest(store.images.list().getFirst().digest()), PullPolicy.NEWER);
    assertThat(registry.requests()).hasSize(before);
  }

  @Test
  void newerKeepsWhatIsHereWhenTheRegistryIsGone() throws InterruptedException {
    ImageRef ref;
    try (var other = LocalRegistry.start()) {
      ref = other.push(app(), "app:v1");
      store.pull(ref, PullPolicy.ALWAYS);
    }
    store.pull(ref, PullPolicy.NEWER);
    assertThat(store.notices()).singleElement().asString().contains("keeping").contains("connect");
    assertThatThrownBy(() -> store.pull(ref, PullPolicy.ALWAYS))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining(ref.host());
    assertThat(store.images.platformOf(ref, Optional.empty()))
        .isInstanceOf(PlatformAnswer.Recognised.class);
    assertThat(store.images.platformOf(ImageRef.parse(ref.host() + "/other:v1"), Optional.empty()))
        .isInstanceOf(PlatformAnswer.Failing.class);
  }

  @Test
  void choosesThePlatform() throws InterruptedException {
    MadeImage amd = app().make();
    MadeImage arm =
        ImageMaker.scratch()
            .layer(TarEntry.file("arm", "arm"))
            .platform(Platform.parse("linux/arm64"))
            .make();
    ImageRef ref = registry.push(ImageMaker.index(arm, amd), "multi:v1");
    assertThat(store.images.platformOf(ref, Optional.empty()))
        .isEqualTo(
            new PlatformAnswer.Recognised(
                List.of(Platform.parse("linux/arm64"), TestStore.AMD64),
                ArtifactKind.ROOT_FILE_SYSTEM));
    assertThat(store.pull(ref, PullPolicy.ALWAYS).digest()).isEqualTo(amd.digest());
    var request =
        new PullRequest(
            ref,
            PullPolicy.IF_NOT_PRESENT,
            Optional.of(Platform.parse("linux/arm64")),
            Optional.empty());
    assertThat(store.images.pull(request, _ -> {}).digest()).isEqualTo(arm.digest());
    ImageRef only = registry.push(arm, "only-arm:v1");
    assertThatThrownBy(() -> store.pull(only, PullPolicy.ALWAYS))
        .isInstanceOf(AgentException.WrongPlatform.class)
        .hasMessageContaining("linux/arm64");
    var index = registry.push(ImageMaker.index(arm), "only-arm-index:v1");
    assertThatThrownBy(() -> store.pull(index, PullPolicy.ALWAYS))
        .isInstanceOf(AgentException.WrongPlatform.class);
  }

  @Test
  void keepsWasmAsModuleAndDockerImages() throws InterruptedException {
    byte[] module = "\0asm....".getBytes(StandardCharsets.ISO_8859_1);
    ImageRef wasm = registry.push(ImageMaker.wasm(module), "wasm:v1");
    assertThat(store.pull(wasm, PullPolicy.ALWAYS).kind()).isEqualTo(ArtifactKind.WASM_MODULE);
    assertThat(store.images.module(wasm)).isEqualTo(module);
    assertThat(store.images.find(wasm)).isPresent();
    ImageRef docker =
        registry.push(ImageMaker.scratch().docker().layer(TarEntry.file("d", "d")), "docker:v1");
    store.pull(docker, PullPolicy.ALWAYS);
    assertThat(store.images.layers(docker).getFirst().resolve("d")).hasContent("d");
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void tagsAndRemovesButKeepsWhatIsShared() throws Exception {
    ImageRef one = registry.push(app(), "one:v1");
    ImageRef two = registry.push(app().layer(TarEntry.file("more", "more")), "two:v1");
    store.pull(one, PullPolicy.ALWAYS);
    store.pull(two, PullPolicy.ALWAYS);
    store.images.tag(one, ImageRef.parse("mine:v1"));
    assertThat(store.images.remove(one, false).deleted()).isEmpty();
    var snapshot =
        store
            .store
            .snapshots()
            .create(
                "box",
                store.images.find(two).orElseThrow().layers().stream()
                    .map(layer -> layer.diffId().orElseThrow())
                    .toList());
    assertThatThrownBy(() -> store.images.remove(two, false))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("box");
    assertThat(store.images.prune(new PruneFilter(true, Optional.empty())).untagged())
        .containsExactly("docker.io/library/mine:v1");
    snapshot.remove();
    assertThat(store.images.remove(two, false).reclaimedBytes()).isPositive();
    assertThat(store.images.list()).isEmpty();
    assertThat(store.store.check().findings()).isEmpty();
    assertThat(store.store.layers().list()).isEmpty();
    assertThatThrownBy(() -> store.images.remove(two, false))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void prunesByAge() throws InterruptedException {
    ImageRef ref = registry.push(app(), "app:v1");
    store.pull(ref, PullPolicy.ALWAYS);
    store.clock.advance(Duration.ofHours(2));
    var old = new PruneFilter(true, Optional.of(Duration.ofHours(3)));
    assertThat(store.images.prune(old).deleted()).isEmpty();
    store.clock.advance(Duration.ofHours(2));
    store.images.hold(ref).close();
    assertThat(store.images.prune(old).deleted()).isEmpty();
    store.clock.advance(Duration.ofHours(4));
    assertThat(store.images.prune(old).deleted()).isNotEmpty();
  }

  @Test
  void saysWhoIsRefusedWhere() throws InterruptedException {
    try (var closed = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"))) {
      ImageRef ref = closed.push(app(), "private:v1");
      assertThatThrownBy(() -> store.pull(ref, PullPolicy.ALWAYS))
          .isInstanceOf(AgentException.PullFailed.class)
          .hasMessageContaining(closed.host())
          .hasMessageContaining("none are configured");
      assertThatThrownBy(
              () ->
                  store.images.pull(
                      new PullRequest(
                          ref,
                          PullPolicy.ALWAYS,
                          Optional.empty(),
                          Optional.of(new RegistryAuth.Basic("bob", "wrong-word"))),
                      _ -> {}))
          .isInstanceOf(AgentException.PullFailed.class)
          .hasMessageContaining(closed.host())
          .hasMessageContaining("'bob'")
          .hasMessageNotContaining("wrong-word");
      var right =
          new PullRequest(
              ref,
              PullPolicy.ALWAYS,
              Optional.empty(),
              Optional.of(new RegistryAuth.Basic("ann", "secret")));
      assertThat(store.images.pull(right, _ -> {}).references()).containsExactly(ref);
    }
  }

  @Test
  void saysWhatIsAbsent() {
    assertThatThrownBy(() -> store.pull(registry.ref("no/such:v1"), PullPolicy.ALWAYS))
        .isInstanceOf(AgentException.PullFailed.class)
        .hasMessageContaining("no/such:v1")
        .hasMessageContaining("has no image");
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void whatIsMissingHereIsNotTheNetworksFault() throws Exception {
    MadeImage made = app().make();
    ImageRef ref;
    try (var brief = LocalRegistry.start()) {
      ref = brief.push(made, "app:v1");
      store.pull(ref, PullPolicy.ALWAYS);
    }
    store.store.layers().remove(made.layers().get(1).diffId());

    String damaged = "app:v1' is damaged: layer " + made.layers().get(1).diffId() + " is missing";
    for (PullPolicy policy : List.of(PullPolicy.IF_NOT_PRESENT, PullPolicy.NEVER)) {
      assertThatThrownBy(() -> store.pull(ref, policy))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining(damaged)
          .hasMessageContaining("run 'zlayer image fsck --repair'");
    }
    assertThatThrownBy(() -> store.images.hold(ref)).hasMessageContaining(damaged);
    store.store.repair();
    assertThat(store.pull(ref, PullPolicy.IF_NOT_PRESENT).references()).containsExactly(ref);

    Digest blob = made.layers().getFirst().blob().digest();
    Files.delete(store.directory.imageBlobs().resolve("sha256").resolve(blob.hex()));
    assertThatThrownBy(() -> store.pull(ref, PullPolicy.IF_NOT_PRESENT))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("damaged: blob " + blob + " is missing");
    store.store.repair(); // its content is nowhere to be had, so it has to be pulled again
    assertThat(store.store.check().findings()).isEmpty();
    assertThatThrownBy(() -> store.pull(ref, PullPolicy.IF_NOT_PRESENT))
        .isInstanceOf(AgentException.Network.class);
  }

  /** Images may be private: neither blobs nor what is half downloaded is for other users. */
  @Test
  void noOtherUserReadsWhatWasPulled() throws Exception {
    ImageRef ref = registry.push(app(), "app:v1");
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxr-xr-x"));
    store.pull(ref, PullPolicy.ALWAYS);
    Path blobs = store.directory.imageBlobs().resolve("sha256");
    Path half = Files.writeString(store.directory.imageIngest().resolve("x.partial"), "half");

    String look = "cat %s/* %s/*".formatted(blobs, store.directory.imageIngest());
    var asNobody =
        Processes.run(
            Command.of("setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", look),
            Deadline.after(Duration.ofSeconds(20)));

    assertThat(asNobody.success()).isFalse();
    assertThat(asNobody.stdout()).isEmpty();
    assertThat(asNobody.stderr()).contains("Permission denied");
    Files.delete(half);
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void repairsWhatWasDamaged() throws Exception {
    MadeImage made = app().make();
    ImageRef ref = registry.push(made, "app:v1");
    ImageRef other = registry.push(app().layer(TarEntry.file("x", "x")), "other:v1");
    store.pull(ref, PullPolicy.ALWAYS);
    store.pull(other, PullPolicy.ALWAYS);
    var first = made.layers().getFirst();
    Files.write(
        store.directory.imageBlobs().resolve("sha256").resolve(first.blob().digest().hex()),
        noise(9, 100));
    store.store.layers().remove(made.layers().get(1).diffId());
    Files.writeString(store.directory.imageBlobs().resolve("sha256").resolve("odd"), "odd");
    assertThat(store.store.check().findings()).hasSize(3);
    store.store.repair();
    assertThat(store.store.check().findings()).isEmpty();
    assertThat(store.images.list()).isEmpty(); // both used the damaged blob
    store.pull(ref, PullPolicy.IF_NOT_PRESENT);
    assertThat(store.images.layers(ref).getFirst().resolve("base")).exists();
    assertThat(store.store.check().findings()).isEmpty();
  }
}

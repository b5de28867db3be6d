package dev.zlayer.runtime.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.docker.DockerEngine;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The images of a real engine behind TLS, from a real registry that wants a password. */
@Requires({
  Fact.ROOT,
  Fact.DOCKERD,
  Fact.BUSYBOX,
  Fact.OVERLAYFS,
  Fact.DOCKER_REGISTRY,
  Fact.HTPASSWD,
  Fact.OPENSSL
})
class DockerImageStoreIT {
  private static final Optional<RegistryAuth> LOGIN =
      Optional.of(new RegistryAuth.Basic("ada", "lovelace"));
  private static DockerEngine engine;
  private static LocalRegistry registry;
  private static DockerRuntime runtime;
  private static Images images;

  @BeforeAll
  static void open() throws Exception {
    registry = LocalRegistry.start(LocalRegistry.Options.DEFAULT.withLogin("ada", "lovelace"));
    engine = DockerEngine.withTls();
    runtime = DockerRuntime.open(DockerSettings.of(engine.tlsAddress(), "images"));
    images = runtime.images();
  }

  @AfterAll
  static void close() {
    // also after a start that failed half way
    Stream.of(runtime, engine, registry).filter(Objects::nonNull).forEach(DockerImageStoreIT::end);
  }

  @AfterEach
  void removeAll() {
    for (ImageInfo image : images.list()) {
      image.references().forEach(reference -> images.remove(reference, true));
    }
  }

  @Test
  void aPullTellsItsProgressAndWhatCame() throws Exception {
    ImageRef image =
        registry.push(ImageMaker.busybox().cmd("sh").env("A", "b").label("l", "m"), "team/app:1");
    var events = new ArrayList<PullEvent>();
    ImageInfo pulled = images.pull(request(image, PullPolicy.IF_NOT_PRESENT), events::add);
    assertThat(pulled.references()).contains(image);
    assertThat(pulled.platform().map(Platform::os)).contains("linux");
    assertThat(events).hasAtLeastOneElementOfType(PullEvent.Notice.class);
    assertThat(events)
        .filteredOn(PullEvent.Resolved.class::isInstance)
        .singleElement()
        .isEqualTo(new PullEvent.Resolved(pulled.digest(), resolvedLayers(events), 0));
    var details = images.find(image).orElseThrow();
    assertThat(details.run().env()).contains("A=b");
    assertThat(details.run().labels()).containsEntry("l", "m");
    assertThat(details.layers()).isNotEmpty();

    int before = registry.requests().size();
    images.pull(request(image, PullPolicy.IF_NOT_PRESENT), _ -> {});
    images.pull(request(image, PullPolicy.NEVER), _ -> {});
    assertThat(registry.requests()).hasSize(before);
  }

  @Test
  void whyAPullFailedIsTold() {
    ImageRef missing = registry.ref("team/none:1");
    assertThatThrownBy(() -> images.pull(request(missing, PullPolicy.ALWAYS), _ -> {}))
        .isInstanceOf(AgentException.PullFailed.class);
    assertThatThrownBy(() -> images.pull(request(missing, PullPolicy.NEVER), _ -> {}))
        .isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> images.pull(PullRequest.of(missing, PullPolicy.ALWAYS), _ -> {}))
        .as("without the password")
        .isInstanceOf(AgentException.PullFailed.class);
    assertThatThrownBy(
            () ->
                images.pull(
                    PullRequest.of(ImageRef.parse("127.0.0.1:1/a:1"), PullPolicy.ALWAYS), _ -> {}))
        .isInstanceOf(AgentException.Network.class);
  }

  @Test
  void anImageForAnotherPlatformIsToldBeforeAndAfter() throws Exception {
    Platform foreign = Platform.of("linux", "s390x");
    ImageRef image =
        registry.push(
            ImageMaker.scratch().docker().layer(TarEntry.file("f", "x")).platform(foreign), "f:1");
    assertThat(images.platformOf(image, LOGIN))
        .isInstanceOfSatisfying(
            PlatformAnswer.Recognised.class,
            answer -> assertThat(answer.platforms()).containsExactly(foreign));
    assertThatThrownBy(() -> images.pull(request(image, PullPolicy.ALWAYS), _ -> {}))
        .isInstanceOf(AgentException.WrongPlatform.class);
    assertThat(images.platformOf(registry.ref("none:1"), LOGIN))
        .isInstanceOf(PlatformAnswer.Failing.class);
  }

  @Test
  void namesComeAndGo() throws Exception {
    ImageRef image = registry.push(ImageMaker.busybox().cmd("sh"), "names:1");
    images.pull(request(image, PullPolicy.ALWAYS), _ -> {});
    ImageRef other = ImageRef.parse("localhost/other:2");
    images.tag(image, other);
    assertThat(images.list())
        .singleElement()
        .satisfies(info -> assertThat(info.references()).contains(image, other));
    var container = runtime.create(ContainerId.of("test", "user", 1), ContainerSpec.of(other));
    assertThatThrownBy(() -> images.remove(other, false))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining(container.inspect().name());
    container.remove(true);
    assertThat(images.remove(other, false).deleted()).isEmpty();
    assertThat(images.remove(image, false).deleted()).isNotEmpty();
    assertThatThrownBy(() -> images.remove(image, false))
        .isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> images.tag(image, other)).isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void unusedImagesAreTakenAway() throws Exception {
    images.pull(
        request(registry.push(ImageMaker.busybox(), "prune:1"), PullPolicy.ALWAYS), _ -> {});
    assertThat(images.prune(PruneFilter.DANGLING).deleted()).isEmpty();
    assertThatThrownBy(() -> images.prune(new PruneFilter(true, Optional.of(Duration.ofDays(1)))))
        .isInstanceOf(AgentException.Unsupported.class);
    assertThat(images.prune(new PruneFilter(true, Optional.empty())).deleted()).isNotEmpty();
    assertThat(images.list()).isEmpty();
  }

  @Test
  void imagesTravelAsFiles() throws Exception {
    ImageArchives archives = (ImageArchives) images;
    ImageRef rooted = ImageRef.parse("localhost/rooted:1");
    byte[] root = TarWriter.archive(List.of(TarEntry.file("hello", "there")));
    assertThat(archives.importRoot(new ByteArrayInputStream(root), rooted).references())
        .containsExactly(rooted);
    var tar = new ByteArrayOutputStream();
    archives.save(List.of(rooted), tar);
    images.remove(rooted, true);
    assertThat(archives.load(new ByteArrayInputStream(tar.toByteArray())))
        .flatExtracting(ImageInfo::references)
        .containsExactly(rooted);
    assertThatThrownBy(() -> archives.load(new ByteArrayInputStream(new byte[2048])))
        .isInstanceOf(AgentException.class);
    assertThatThrownBy(() -> archives.save(List.of(ImageRef.parse("localhost/none:1")), tar))
        .isInstanceOf(AgentException.NotFound.class);
  }

  /** Both directions of a taken-over connection, and the end of one of them, under TLS. */
  @Test
  void streamsWorkOverTls() throws Exception {
    ImageRef image = registry.push(ImageMaker.busybox().cmd("sleep", "1000"), "streams:1");
    images.pull(request(image, PullPolicy.ALWAYS), _ -> {});
    var container =
        runtime.create(
            ContainerId.of("test", "streams", 1),
            ContainerSpec.of(image).withNetwork(NetworkSpec.NONE));
    try {
      container.start();
      byte[] sent = new byte[300_000];
      new java.util.Random(7).nextBytes(sent);
      try (var session = container.exec(ExecSpec.of("cat").withStdin());
          var scope = new TaskScope("streams")) {
        scope.fork(
            () -> {
              try (var stdin = session.stdin()) {
                stdin.write(sent);
              }
              return sent;
            });
        assertThat(session.stdout().readAllBytes()).isEqualTo(sent);
        scope.join();
        assertThat(session.await(Deadline.after(Duration.ofSeconds(60))).success()).isTrue();
      }
    } finally {
      container.remove(true);
    }
  }

  private static void end(AutoCloseable part) {
    try {
      part.close();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static int resolvedLayers(List<PullEvent> events) {
    return events.stream()
        .filter(PullEvent.Resolved.class::isInstance)
        .mapToInt(event -> ((PullEvent.Resolved) event).layers())
        .findFirst()
        .orElseThrow();
  }

  private static PullRequest request(ImageRef image, PullPolicy policy) {
    return new PullRequest(image, policy, Optional.empty(), LOGIN);
  }
}

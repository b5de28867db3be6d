package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.registry.FakeRegistry;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.PushEvent;
import dev.zlayer.port.PushEvent.Step;
import dev.zlayer.port.PushRequest;
import dev.zlayer.port.PushResult;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.registry.LocalRegistry;
import dev.zlayer.testkit.registry.LocalRegistry.Options;
import dev.zlayer.testkit.registry.LocalRegistry.Request;
import dev.zlayer.testkit.s3.FlakyProxy;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.DOCKER_REGISTRY})
class PushIT {
  @TempDir Path temp;
  private final List<PushEvent> events = new CopyOnWriteArrayList<>();
  private final MadeImage made =
      ImageMaker.scratch()
          .layer(TarEntry.file("big", noise(3_000_000)))
          .layer(TarEntry.file("small", "small\n"))
          .env("A", "b")
          .make();
  private LocalRegistry source;
  private TestStore store;
  private ImageRef pulled;

  @BeforeEach
  void start() throws InterruptedException {
    source = LocalRegistry.start();
    store = TestStore.in(temp.resolve("data"));
    pulled = source.push(made, "team/app:v1");
    store.pull(pulled, PullPolicy.ALWAYS);
  }

  @AfterEach
  void stop() {
    store.close();
    source.close();
  }

  private static byte[] noise(int size) {
    var bytes = new byte[size];
    new Random(5).nextBytes(bytes);
    return bytes;
  }

  private PushResult push(ImageRef as, Optional<RegistryAuth> auth) throws InterruptedException {
    events.clear();
    if (!as.equals(pulled)) {
      store.images.tag(pulled, as);
    }
    return store.images.push(new PushRequest(as, auth), events::add);
  }

  private PushResult push(ImageRef as) throws InterruptedException {
    return push(as, Optional.empty());
  }

  private List<Step> ends() {
    return events.stream()
        .filter(PushEvent.BlobProgress.class::isInstance)
        .map(event -> ((PushEvent.BlobProgress) event).step())
        .filter(step -> step != Step.WAITING && step != Step.PUSHING)
        .toList();
  }

  /** What another node with nothing gets from there. */
  private void assertPullable(ImageRef ref, Optional<RegistryAuth> auth) throws Exception {
    Path empty = temp.resolve("empty-" + ref.path().replace('/', '-'));
    try (TestStore other = TestStore.in(empty)) {
      var request = new dev.zlayer.port.PullRequest(ref, PullPolicy.ALWAYS, Optional.empty(), auth);
      assertThat(other.images.pull(request, _ -> {}).digest()).isEqualTo(made.digest());
      assertThat(other.images.layers(ref).getFirst().resolve("big"))
          .hasBinaryContent(noise(3_000_000));
    }
  }

  @Test
  void whatWasPushedCanBePulledByOthers() throws Exception {
    try (var target = LocalRegistry.start()) {
      ImageRef ref = target.ref("other/name:v2");
      PushResult result = push(ref);
      assertThat(result.digest()).isEqualTo(made.digest());
      assertThat(ends()).hasSize(3).containsOnly(Step.PUSHED);
      assertThat(progress(made.layers().getFirst().blob().digest()))
          .isSorted()
          .endsWith(made.layers().getFirst().blob().size());
      assertPullable(ref, Optional.empty());
    }
  }

  /** Where nothing is set for it; elsewhere its certificate has to be trusted. */
  @Test
  void aRegistryOfThisMachineMaySpeakTls() throws Exception {
    var auth = Optional.<RegistryAuth>of(new RegistryAuth.Basic("ann", "secret"));
    try (var target =
        LocalRegistry.start(
            LocalRegistry.Options.DEFAULT.withTls("other.test").withLogin("ann", "secret"))) {
      ImageRef ref = target.ref("other/name:v2");
      assertThatThrownBy(() -> push(ref)).hasMessageContaining("wants credentials");
      assertThat(push(ref, auth).digest()).isEqualTo(made.digest());
      assertPullable(ref, auth);
    }
  }

  private List<Long> progress(Digest blob) {
    return events.stream()
        .filter(PushEvent.BlobProgress.class::isInstance)
        .map(PushEvent.BlobProgress.class::cast)
        .filter(event -> event.blob().equals(blob))
        .map(PushEvent.BlobProgress::done)
        .toList();
  }

  @Test
  void whatTheRegistryHasIsNotUploaded() throws Exception {
    int before = source.requests().size();
    push(pulled);
    assertThat(ends()).hasSize(3).containsOnly(Step.EXISTS);
    assertThat(uploads(before)).isEmpty();
  }

  private List<Request> uploads(int before) {
    List<Request> all = source.requests();
    return all.subList(before, all.size()).stream()
        .filter(request -> request.path().contains("/blobs/uploads"))
        .toList();
  }

  @Test
  void blobsOfOtherRepositoriesAreMounted() throws Exception {
    int before = source.requests().size();
    ImageRef ref = source.ref("team/copy:v1");
    push(ref);
    assertThat(ends()).hasSize(3).containsOnly(Step.MOUNTED);
    assertThat(uploads(before))
        .hasSize(3)
        .allMatch(request -> request.method().equals("POST") && request.status() == 201);
    assertPullable(ref, Optional.empty());
  }

  @Test
  void brokenConnectionsAreContinuedOrBegunAgain() throws Exception {
    try (var target = LocalRegistry.start();
        var proxy = new FlakyProxy(port(target.host()), FlakyProxy.Fault.BREAK, 2)) {
      ImageRef ref = ImageRef.parse(URI.create(proxy.endpoint()).getAuthority() + "/other/name:v2");
      push(ref);
      assertThat(proxy.faults()).isEqualTo(2);
      assertThat(events)
          .filteredOn(PushEvent.Notice.class::isInstance)
          .isNotEmpty()
          .allSatisfy(event -> assertThat(event.toString()).contains("trying again"));
      assertPullable(target.ref("other/name:v2"), Optional.empty());
    }
  }

  private static int port(String host) {
    return Integer.parseInt(host.substring(host.indexOf(':') + 1));
  }

  @Test
  void aRegistryThatKeepsFailingIsReported() throws Exception {
    try (var broken = new FakeRegistry()) {
      broken.behave(
          exchange ->
              FakeRegistry.text(
                  exchange,
                  exchange.getRequestMethod().equals("HEAD") ? 404 : 400,
                  exchange.getRequestMethod().equals("HEAD")
                      ? ""
                      : "{\"errors\":[{\"message\":\"quota exceeded\"}]}"));
      ImageRef ref = ImageRef.parse(broken.host() + "/app:v1");
      assertThatThrownBy(() -> push(ref))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("cannot push image '" + ref.familiar())
          .hasMessageContaining("quota exceeded");
      assertThat(broken.seen).noneMatch(request -> request.path().contains("/manifests/"));
    }
    assertThatThrownBy(() -> push(ImageRef.parse("127.0.0.1:1/app:v1")))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("cannot connect");
  }

  @Test
  void aClosedRegistryWantsCredentials() throws Exception {
    try (var closed = LocalRegistry.start(Options.DEFAULT.withLogin("ann", "secret"))) {
      ImageRef ref = closed.ref("app:v1");
      assertThatThrownBy(() -> push(ref))
          .isInstanceOf(AgentException.Network.class)
          .hasMessageContaining("none are configured");
      assertThatThrownBy(() -> push(ref, Optional.of(new RegistryAuth.Basic("bob", "wrong-word"))))
          .hasMessageContaining("'bob'")
          .hasMessageNotContaining("wrong-word");
      var right = Optional.<RegistryAuth>of(new RegistryAuth.Basic("ann", "secret"));
      push(ref, right);
      assertThat(ends()).hasSize(3).containsOnly(Step.PUSHED);
      assertPullable(ref, right);
    }
  }

  /** A token is asked for what is done, and an upload elsewhere gets no credentials. */
  @Test
  void credentialsStayWithTheRegistry() throws Exception {
    try (var registry = new FakeRegistry();
        var storage = new FakeRegistry()) {
      storage.behave(
          exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.getResponseHeaders().set("Location", "http://" + storage.host() + "/upload");
            boolean patch = exchange.getRequestMethod().equals("PATCH");
            return FakeRegistry.text(exchange, patch ? 202 : 201, "");
          });
      registry.behave(
          exchange -> {
            exchange.getRequestBody().readAllBytes();
            String path = exchange.getRequestURI().getPath();
            if (path.equals("/token")) {
              return FakeRegistry.text(exchange, 200, "{\"token\":\"abc\"}");
            }
            if (exchange.getRequestHeaders().getFirst("Authorization") == null) {
              exchange
                  .getResponseHeaders()
                  .set(
                      "WWW-Authenticate",
                      "Bearer realm=\"http://%s/token\"".formatted(registry.host()));
              return FakeRegistry.text(exchange, 401, "");
            }
            exchange
                .getResponseHeaders()
                .set("Location", "http://" + storage.host() + "/upload?id=1");
            return FakeRegistry.text(
                exchange,
                switch (exchange.getRequestMethod()) {
                  case "HEAD" -> 404;
                  case "POST" -> 202;
                  default -> 201;
                },
                "");
          });
      ImageRef ref = ImageRef.parse(registry.host() + "/app:v1");
      push(ref, Optional.of(new RegistryAuth.Basic("ann", "secret")));
      assertThat(registry.seen)
          .filteredOn(request -> request.path().equals("/token"))
          .isNotEmpty()
          .allMatch(request -> request.query().contains("scope=repository%3Aapp%3Apull%2Cpush"));
      assertThat(storage.seen)
          .hasSize(6)
          .allMatch(request -> request.authorization().isEmpty())
          .anyMatch(request -> request.query().contains("id=1"));
    }
  }

  @Test
  void whatIsNotHereOrHasNoTagIsRefused() {
    assertThatThrownBy(
            () ->
                store.images.push(
                    new PushRequest(source.ref("no/such:v1"), Optional.empty()), events::add))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining("no/such:v1");
    assertThatThrownBy(
            () ->
                store.images.push(
                    new PushRequest(pulled.withDigest(made.digest()), Optional.empty()),
                    events::add))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("needs a tag");
  }
}

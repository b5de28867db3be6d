package dev.zlayer.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.registry.FakeRegistry;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.BlobPeers.BlobPeer;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pulls of modules, which need no rights to unpack, with peers that have all kinds of faults. */
class PeersFirstTest {
  @TempDir Path temp;
  private FakeRegistry registry;
  private TestStore store;
  private final MadeImage made = module();
  private final Content layer = made.blobs().getLast();
  private ImageRef ref;

  /** Sends what a test decides. */
  private record Fake(String name, Map<Digest, Content> content, Sending sending)
      implements BlobPeer {
    @Override
    public Set<Digest> blobs() {
      return content.keySet();
    }

    @Override
    public InputStream open(Digest blob, long from) throws IOException {
      byte[] bytes = content.get(blob).bytes();
      return sending.send(Arrays.copyOfRange(bytes, (int) from, bytes.length));
    }
  }

  @FunctionalInterface
  private interface Sending {
    InputStream send(byte[] rest) throws IOException;
  }

  private static MadeImage module() {
    var bytes = new byte[500_000];
    new Random(7).nextBytes(bytes);
    return ImageMaker.wasm(bytes);
  }

  @BeforeEach
  void start() throws Exception {
    registry = new FakeRegistry();
    store = TestStore.in(temp.resolve("data"));
    ref = registry.serve(made, "app:v1");
  }

  @AfterEach
  void stop() {
    store.close();
    registry.close();
  }

  private Fake peer(Sending sending) {
    var content = new HashMap<Digest, Content>();
    made.blobs().forEach(blob -> content.put(blob.digest(), blob));
    made.manifests().forEach(manifest -> content.put(manifest.digest(), manifest));
    return new Fake("node 'there'", content, sending);
  }

  private void use(BlobPeer... peers) {
    store.images.use(
        wanted ->
            Arrays.stream(peers)
                .filter(peer -> peer.blobs().stream().anyMatch(wanted::contains))
                .toList());
  }

  private long blobsOfTheRegistry() {
    return registry.count("GET", "/blobs/");
  }

  private void pulledWhole() throws InterruptedException {
    assertThat(store.pull(ref, PullPolicy.NEWER).digest()).isEqualTo(made.digest());
    assertThat(store.store.check().findings()).isEmpty();
  }

  @Test
  void whatAPeerHasIsNotAskedOfTheRegistry() throws Exception {
    var asked = new ArrayList<Set<Digest>>();
    Fake peer = peer(ByteArrayInputStream::new);
    store.images.use(
        wanted -> {
          asked.add(wanted);
          return List.of(peer);
        });

    pulledWhole();

    assertThat(blobsOfTheRegistry()).isZero();
    assertThat(registry.count("GET", "/manifests/")).isPositive();
    assertThat(asked)
        .containsExactly(made.blobs().stream().map(Content::digest).collect(Collectors.toSet()));
    assertThat(store.notices()).isEmpty();
  }

  @Test
  void wrongBytesAreRefusedAndTheRegistryIsAsked() throws Exception {
    use(
        peer(
            rest -> {
              rest[rest.length / 2] ^= 1;
              return new ByteArrayInputStream(rest);
            }));

    pulledWhole();

    assertThat(registry.count("GET", "/blobs/" + layer.digest())).isEqualTo(1);
    assertThat(registry.seen)
        .filteredOn(seen -> seen.path().endsWith(layer.digest().toString()))
        .allMatch(seen -> seen.range().equals("null"));
    assertThat(store.notices()).anyMatch(text -> text.contains("has the digest"));
  }

  @Test
  void moreBytesThanABlobHasAreRefused() throws Exception {
    use(
        peer(
            rest ->
                new SequenceInputStream(
                    new ByteArrayInputStream(rest), new ByteArrayInputStream(new byte[1]))));

    pulledWhole();

    assertThat(store.notices()).anyMatch(text -> text.contains("is longer than"));
  }

  @Test
  void whereAPeerBreaksOffTheRegistryGoesOn() throws Exception {
    use(
        peer(
            rest ->
                new SequenceInputStream(
                    new ByteArrayInputStream(rest, 0, rest.length / 2), new Broken())));

    pulledWhole();

    assertThat(registry.seen)
        .filteredOn(seen -> seen.path().endsWith(layer.digest().toString()))
        .singleElement()
        .matches(seen -> seen.range().startsWith("bytes="));
    assertThat(store.notices()).contains("node 'there': the connection broke; asking elsewhere");
  }

  /** As a connection that is reset. */
  private static final class Broken extends InputStream {
    @Override
    public int read() throws IOException {
      throw new IOException("the connection broke");
    }
  }

  @Test
  void anotherPeerIsAskedBeforeTheRegistry() throws Exception {
    Fake busy =
        peer(
            _ -> {
              throw new IOException("it answered with status 503");
            });
    use(busy, peer(ByteArrayInputStream::new));

    pulledWhole();

    assertThat(blobsOfTheRegistry()).isZero();
  }

  @Test
  void aSlowPeerIsLeft() throws Exception {
    try (TestStore other = TestStore.in(temp.resolve("other"))) {
      var patience = new PeersFirst.Patience(Duration.ofSeconds(5), 1 << 20, other.clock);
      Fake slow =
          peer(
              rest ->
                  new ByteArrayInputStream(rest) {
                    @Override
                    public synchronized int read(byte[] into, int offset, int length) {
                      other.clock.advance(Duration.ofSeconds(1));
                      return super.read(into, offset, Math.min(length, 1000));
                    }
                  });
      var notices = new ArrayList<String>();
      var rest = new ArrayList<Long>();
      var source =
          new PeersFirst(
              List.of(slow), (into, _) -> rest.add(into.position()), patience, notices::add);
      var content = dev.zlayer.image.store.DiskContentStore.open(other.directory);
      try (var ingest = content.ingest(layer.digest(), layer.size())) {
        source.blob(ingest, new Silent());
      }
      assertThat(rest).containsExactly(5000L);
      assertThat(notices).containsExactly("node 'there': it is slow; asking elsewhere");
    }
  }

  @Test
  void aPeerThatSendsAByteNowAndThenDoesNotKeepAManifestWaiting() throws Exception {
    Digest digest = made.manifest().digest();
    Fake dripping = peer(_ -> new Dripping());
    Fake never =
        peer(
            _ -> {
              throw new AssertionError("the time for all of them has passed");
            });
    var notices = new ArrayList<String>();
    assertThat(
            PeersFirst.small(
                _ -> List.of(dripping, never),
                digest,
                1 << 20,
                notices::add,
                Deadline.after(Duration.ofMillis(50))))
        .isEmpty();
    assertThat(notices).containsExactly("node 'there': it is slow; asking elsewhere");
  }

  /** It never ends. */
  private static final class Dripping extends InputStream {
    @Override
    public int read() throws IOException {
      try {
        Pauses.REAL.pause(Duration.ofMillis(5));
        return 'x';
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      into[offset] = (byte) read();
      return 1;
    }
  }

  /** Nobody follows. */
  private static final class Silent implements dev.zlayer.image.registry.BlobListener {
    @Override
    public void received(long bytes) {}

    @Override
    public void verifying() {}
  }

  @Test
  void aDigestThatTheRegistryDoesNotKnowComesFromAPeer() throws Exception {
    use(peer(ByteArrayInputStream::new));
    ImageRef built = ImageRef.parse(registry.host() + "/built@" + made.manifest().digest());
    registry.behave(exchange -> FakeRegistry.text(exchange, 404, ""));

    assertThat(store.pull(built, PullPolicy.IF_NOT_PRESENT).digest()).isEqualTo(made.digest());

    ImageRef tagged = ImageRef.parse(registry.host() + "/built:v1");
    assertThatThrownBy(() -> store.pull(tagged, PullPolicy.IF_NOT_PRESENT))
        .isInstanceOf(AgentException.PullFailed.class);
  }

  @Test
  void aManifestWithAnotherDigestIsRefused() {
    use(peer(_ -> new ByteArrayInputStream(layer.bytes())));
    registry.behave(exchange -> FakeRegistry.text(exchange, 404, ""));
    ImageRef built = ImageRef.parse(registry.host() + "/built@" + made.manifest().digest());

    assertThatThrownBy(() -> store.pull(built, PullPolicy.ALWAYS))
        .isInstanceOf(AgentException.PullFailed.class);

    assertThat(store.images.list()).isEmpty();
    assertThat(store.notices()).anyMatch(text -> text.contains("is something else"));
  }

  @Test
  void withThePolicyNeverNobodyIsAsked() {
    store.images.use(
        _ -> {
          throw new AssertionError("asked");
        });

    assertThatThrownBy(() -> store.pull(ref, PullPolicy.NEVER))
        .isInstanceOf(AgentException.NotFound.class);
  }
}

package dev.zlayer.image;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.registry.BlobListener;
import dev.zlayer.image.registry.Fetched;
import dev.zlayer.image.registry.RegistryException;
import dev.zlayer.image.registry.Repository;
import dev.zlayer.image.store.DiskSpace;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.BlobPeers;
import dev.zlayer.port.BlobPeers.BlobPeer;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TimeSource;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Takes blobs from peers that have them, else from the registry. Whatever goes wrong with a peer
 * costs some time and no more: the next one, and at last the registry, goes on where it stopped, or
 * from the start when its bytes were not those of the blob.
 *
 * @param peers that have some of the blobs, as they said
 */
record PeersFirst(
    List<BlobPeer> peers, BlobSource registry, Patience patience, Consumer<String> notices)
    implements BlobSource {
  /** More would only delay a pull that the registry can serve. */
  private static final int MOST = 2;

  private static final int BUFFER = 64 << 10;

  /** For a manifest or a configuration, which have some KiB. */
  private static final Duration SMALL = Duration.ofSeconds(20);

  PeersFirst {
    peers = List.copyOf(peers);
  }

  /**
   * When a peer is too slow.
   *
   * @param window in which so many bytes have to come
   */
  record Patience(Duration window, long bytes, TimeSource clock) {
    static final Patience REAL =
        new Patience(Duration.ofSeconds(5), 5 << 20, TimeSource.monotonic());
  }

  @Override
  public void blob(Ingest into, BlobListener listener) throws IOException, InterruptedException {
    List<BlobPeer> having =
        peers.stream().filter(peer -> peer.blobs().contains(into.digest())).limit(MOST).toList();
    for (BlobPeer peer : having) {
      if (taken(peer, into, listener)) {
        return;
      }
    }
    registry.blob(into, listener);
  }

  private boolean taken(BlobPeer peer, Ingest into, BlobListener listener)
      throws IOException, InterruptedException {
    try {
      try (InputStream in = peer.open(into.digest(), into.position())) {
        copy(in, into, listener);
      }
      listener.verifying();
      into.commit();
      return true;
    } catch (DiskSpace.Full e) {
      throw e;
    } catch (InvalidImageException e) {
      into.restart(); // whose bytes were wrong is not known when an earlier pull has left some
      leave(peer, e);
      return false;
    } catch (IOException | AgentException e) {
      leave(peer, e);
      return false;
    }
  }

  private void leave(BlobPeer peer, Exception reason) throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted while fetching from " + peer.name());
    }
    notices.accept("%s: %s; asking elsewhere".formatted(peer.name(), reason.getMessage()));
  }

  private void copy(InputStream in, Ingest into, BlobListener listener) throws IOException {
    var buffer = new byte[BUFFER];
    long began = patience.clock().nanoTime();
    long before = into.position();
    for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
      into.append(ByteBuffer.wrap(buffer, 0, count));
      listener.received(into.position());
      long now = patience.clock().nanoTime();
      if (now - began >= patience.window().toNanos()) {
        if (into.position() - before < patience.bytes() && into.position() < into.size()) {
          throw new IOException("it is slow");
        }
        began = now;
        before = into.position();
      }
    }
    if (into.position() < into.size()) {
      throw new IOException(
          "it sent %d of %d bytes of %s".formatted(into.position(), into.size(), into.digest()));
    }
  }

  /**
   * What a reference points to, as the registry says. A digest says it itself, so where the
   * registry has nothing or cannot be asked a peer may have it, as with images that were only
   * loaded or built there.
   */
  static Fetched manifest(
      Repository repository, ImageRef reference, BlobPeers peers, Consumer<String> notices)
      throws IOException, InterruptedException {
    try {
      return repository.manifest(reference.selector());
    } catch (RegistryException e) {
      Optional<Digest> digest = reference.digest();
      Optional<byte[]> bytes =
          digest.isEmpty()
              ? Optional.empty()
              : small(peers, digest.get(), ManifestReader.MAX_BYTES, notices);
      return new Fetched(digest.orElseThrow(() -> e), "", bytes.orElseThrow(() -> e));
    }
  }

  /** A small blob of a peer that has the digest; nothing when no peer gives it. */
  static Optional<byte[]> small(BlobPeers peers, Digest digest, int limit, Consumer<String> notices)
      throws InterruptedException {
    return small(peers, digest, limit, notices, Deadline.after(SMALL));
  }

  /** The deadline is for all of them: one may send a byte now and then, and never the last. */
  static Optional<byte[]> small(
      BlobPeers peers, Digest digest, int limit, Consumer<String> notices, Deadline deadline)
      throws InterruptedException {
    for (BlobPeer peer : peers.having(Set.of(digest))) {
      if (deadline.passed()) {
        return Optional.empty();
      }
      try (InputStream in = peer.open(digest, 0)) {
        byte[] bytes = read(in, limit, deadline);
        if (bytes.length <= limit && Hashes.of(bytes, digest).equals(digest)) {
          return Optional.of(bytes);
        }
        notices.accept(
            "%s: content of %s is something else; asking elsewhere".formatted(peer.name(), digest));
      } catch (IOException | AgentException e) {
        if (Thread.interrupted()) {
          throw new InterruptedException("interrupted while asking " + peer.name());
        }
        notices.accept("%s: %s; asking elsewhere".formatted(peer.name(), e.getMessage()));
      }
    }
    return Optional.empty();
  }

  /** One more than the limit at most. */
  private static byte[] read(InputStream in, int limit, Deadline deadline) throws IOException {
    var bytes = new ByteArrayOutputStream();
    var buffer = new byte[BUFFER];
    while (bytes.size() <= limit) {
      int count = in.read(buffer, 0, Math.min(buffer.length, limit + 1 - bytes.size()));
      if (count < 0) {
        break;
      }
      bytes.write(buffer, 0, count);
      if (deadline.passed()) {
        throw new IOException("it is slow");
      }
    }
    return bytes.toByteArray();
  }
}

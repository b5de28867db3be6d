package dev.zlayer.image.store;

import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;

/** A blob that gets its name when it is complete; closed before that, nothing of it stays. */
public final class BlobWriter implements AutoCloseable {
  private final DiskContentStore store;
  private final Path temporary;
  private final String algorithm;
  private final MessageDigest hash;
  private final FileChannel channel;
  private long size;

  BlobWriter(DiskContentStore store, Path temporary, String algorithm) throws IOException {
    this.store = store;
    this.temporary = temporary;
    this.algorithm = algorithm;
    this.hash = Hashes.begin(algorithm);
    this.channel = FileChannel.open(temporary, StandardOpenOption.WRITE);
  }

  public void write(byte[] bytes, int from, int length) throws IOException {
    hash.update(bytes, from, length);
    try {
      ByteBuffer buffer = ByteBuffer.wrap(bytes, from, length);
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    } catch (IOException e) {
      throw DiskSpace.explain(e, temporary);
    }
    size += length;
  }

  /** Makes it durable and visible; the lease holds it from before that on. */
  public DiskContentStore.Stored commit(Leases.Lease lease) throws IOException {
    Digest digest = Hashes.end(algorithm, hash);
    lease.add(digest);
    publish(digest);
    return new DiskContentStore.Stored(digest, size);
  }

  /** Makes it durable and visible if it is what it should be. */
  void commit(Digest expected) throws IOException {
    Digest digest = Hashes.end(algorithm, hash);
    if (!digest.equals(expected)) {
      throw new InvalidImageException(
          "content of %s has the digest %s".formatted(expected, digest));
    }
    publish(digest);
  }

  private void publish(Digest digest) throws IOException {
    try {
      channel.force(true);
    } catch (IOException e) {
      throw DiskSpace.explain(e, temporary);
    }
    AtomicFile.publish(temporary, store.path(digest));
  }

  @Override
  public void close() throws IOException {
    channel.close();
    Files.deleteIfExists(temporary);
  }
}

package dev.zlayer.image.store;

import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;

/**
 * One blob on its way in: hashed while it is written, visible only after {@link #commit} found size
 * and digest right. What arrived survives {@link #close} and the death of the process under the
 * blob's own name, and the next ingest of the same digest goes on behind it.
 *
 * <p>One thread writes; any number may {@link #follow} what has arrived.
 */
public final class Ingest implements AutoCloseable {
  private enum State {
    OPEN,
    COMMITTED,
    CLOSED
  }

  private final Path partial;
  private final Path target;
  private final Digest digest;
  private final long size;
  private final FileChannel channel;
  private MessageDigest hash;

  // guarded by this: followers wait for them to change
  private long written;
  private int restarts;
  private State state = State.OPEN;

  private Ingest(Path partial, Path target, Digest digest, long size, FileChannel channel) {
    this.partial = partial;
    this.target = target;
    this.digest = digest;
    this.size = size;
    this.channel = channel;
    this.hash = Hashes.begin(digest.algorithm());
  }

  static Ingest open(Path partial, Path target, Digest digest, long size) throws IOException {
    FileChannel channel =
        FileChannel.open(partial, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    var ingest = new Ingest(partial, target, digest, size, channel);
    try {
      ingest.adopt();
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    return ingest;
  }

  private void adopt() throws IOException {
    if (channel.size() > size) {
      channel.truncate(0);
    }
    try (InputStream before = Files.newInputStream(partial)) {
      written = Hashes.update(hash, before);
    }
    channel.position(written);
  }

  public Digest digest() {
    return digest;
  }

  public long size() {
    return size;
  }

  /** How many bytes are here already. */
  public synchronized long position() {
    return written;
  }

  /** How often everything was thrown away; a follower of an earlier life has read nonsense. */
  public synchronized int restarts() {
    return restarts;
  }

  /** Takes all of the buffer, or refuses it when the blob would get longer than it should be. */
  public void append(ByteBuffer bytes) throws IOException {
    int count = bytes.remaining();
    if (count > size - position()) {
      throw new InvalidImageException(
          "%s is longer than the %d bytes it should have".formatted(digest, size));
    }
    hash.update(bytes.duplicate());
    try {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    } catch (IOException e) {
      throw DiskSpace.explain(e, partial);
    }
    synchronized (this) {
      written += count;
      notifyAll();
    }
  }

  /** A file of its own for what arrives before its turn; nothing of it outlives its channel. */
  public FileChannel scratch() throws IOException {
    Path file = partial.resolveSibling(partial.getFileName() + ".ahead");
    FileChannel scratch =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    Files.delete(file);
    return scratch;
  }

  /** Throws away what is here. */
  public void restart() throws IOException {
    channel.truncate(0);
    channel.position(0);
    hash = Hashes.begin(digest.algorithm());
    synchronized (this) {
      written = 0;
      restarts++;
      notifyAll();
    }
  }

  /**
   * Makes the blob visible and durable.
   *
   * @throws UnsoundException the content is not what the digest says; it is thrown away
   */
  public void commit() throws IOException {
    if (position() != size) {
      throw new InvalidImageException(
          "%s has %d bytes instead of %d".formatted(digest, position(), size));
    }
    Digest actual = Hashes.end(digest.algorithm(), hash);
    if (!actual.equals(digest)) {
      restart();
      throw new InvalidImageException("content of %s has the digest %s".formatted(digest, actual));
    }
    try {
      channel.force(true);
    } catch (IOException e) {
      throw DiskSpace.explain(e, partial);
    }
    AtomicFile.publish(partial, target);
    end(State.COMMITTED);
  }

  /** Keeps what has arrived, unless it is nothing. */
  @Override
  public void close() throws IOException {
    end(State.CLOSED);
    channel.close();
    if (Files.exists(partial) && Files.size(partial) == 0) {
      Files.delete(partial);
    }
  }

  private synchronized void end(State last) {
    if (state == State.OPEN) {
      state = last;
    }
    notifyAll();
  }

  /**
   * The content from its first byte on, as it arrives. The end is reached only after the blob was
   * committed; a restart or a close before that is an {@link IOException} for the reader.
   */
  public InputStream follow() throws IOException {
    InputStream file = Files.newInputStream(partial);
    return new Follower(file, restarts());
  }

  private final class Follower extends InputStream {
    private final InputStream file;
    private final int life;
    private long position;

    Follower(InputStream file, int life) {
      this.file = file;
      this.life = life;
    }

    @Override
    public int read() throws IOException {
      var one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      long ready = await();
      if (ready == 0) {
        return -1;
      }
      int count = file.read(into, offset, (int) Math.min(length, ready));
      if (count > 0) {
        position += count;
      }
      return count;
    }

    /** How many bytes can be read now; none means that it is the end. */
    private long await() throws IOException {
      synchronized (Ingest.this) {
        while (written == position && restarts == life && state == State.OPEN) {
          try {
            Ingest.this.wait();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new java.io.InterruptedIOException("interrupted while reading " + digest);
          }
        }
        if (restarts != life || (state == State.CLOSED && written == position)) {
          throw new IOException("%s did not arrive in one piece".formatted(digest));
        }
        return written - position;
      }
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}

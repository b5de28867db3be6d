package dev.zlayer.image.store;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/**
 * Blobs by digest. A file under a digest's name is complete, synced and was found to have that
 * digest; whatever is not yet so lies in a directory of its own.
 */
public final class DiskContentStore {
  private static final String PARTIAL = ".partial";

  /** A blob that was stored under the digest it turned out to have. */
  public record Stored(Digest digest, long size) {}

  private final Path blobs;
  private final Path ingest;
  private final AtomicLong counter = new AtomicLong();

  private DiskContentStore(Path blobs, Path ingest) {
    this.blobs = blobs;
    this.ingest = ingest;
  }

  /** Opens or makes the store; the caller is the only owner of the directory. */
  public static DiskContentStore open(DataDir directory) throws IOException {
    var store = new DiskContentStore(directory.imageBlobs(), directory.imageIngest());
    PrivateDirectory.directory(directory.images()); // images may be private, and hold secrets
    Files.createDirectories(store.blobs.resolve("sha256"));
    Files.createDirectories(store.ingest);
    for (Path leftover : files(store.ingest)) {
      if (!leftover.toString().endsWith(PARTIAL)) {
        Files.delete(leftover);
      }
    }
    return store;
  }

  public boolean has(Digest digest) {
    return Files.exists(path(digest));
  }

  /** Where the blob is or would be. */
  public Path path(Digest digest) {
    return blobs.resolve(digest.algorithm()).resolve(digest.hex());
  }

  public Path directory() {
    return blobs;
  }

  public InputStream read(Digest digest) throws IOException {
    try {
      return Files.newInputStream(path(digest));
    } catch (NoSuchFileException e) {
      throw missing(digest, e);
    }
  }

  /** A small blob in memory. */
  public byte[] bytes(Digest digest, int limit) throws IOException {
    try (InputStream in = read(digest)) {
      byte[] content = in.readNBytes(limit + 1);
      if (content.length > limit) {
        throw new InvalidImageException("%s is over %d bytes".formatted(digest, limit));
      }
      return content;
    }
  }

  public long size(Digest digest) throws IOException {
    try {
      return Files.size(path(digest));
    } catch (NoSuchFileException e) {
      throw missing(digest, e);
    }
  }

  /** Begins or resumes a blob that is not here yet; one at a time per digest. */
  public Ingest ingest(Digest digest, long size) throws IOException {
    Files.createDirectories(blobs.resolve(digest.algorithm()));
    return Ingest.open(partial(digest), path(digest), digest, size);
  }

  /** Stores bytes that have this digest; the caller holds a lease on it. */
  public void put(Digest digest, byte[] content) throws IOException {
    if (has(digest)) {
      return;
    }
    try (BlobWriter writer = writer(digest.algorithm())) {
      writer.write(content, 0, content.length);
      writer.commit(digest);
    }
  }

  /** Takes a blob whose digest nobody knows yet. */
  public BlobWriter writer(String algorithm) throws IOException {
    Files.createDirectories(blobs.resolve(algorithm));
    return new BlobWriter(this, Files.createTempFile(ingest, "put", ".tmp"), algorithm);
  }

  /** Frees the blob; nothing when it is not there. */
  void delete(Digest digest) throws IOException {
    Files.deleteIfExists(detach(digest));
  }

  /** Takes the blob out of the store at once; the returned file remains to be deleted. */
  Path detach(Digest digest) throws IOException {
    Path remains = ingest.resolve("old-%s-%d".formatted(digest.hex(), counter.incrementAndGet()));
    try {
      Files.move(path(digest), remains, StandardCopyOption.ATOMIC_MOVE);
    } catch (NoSuchFileException _) {
      // somebody else removed it
    }
    return remains;
  }

  public Set<Digest> list() throws IOException {
    var result = new TreeSet<Digest>();
    for (String algorithm : new String[] {"sha256", "sha512"}) {
      Path directory = blobs.resolve(algorithm);
      for (Path file : Files.exists(directory) ? files(directory) : Set.<Path>of()) {
        digest(algorithm, file.getFileName().toString()).ifPresent(result::add);
      }
    }
    return result;
  }

  /** Files among the blobs that no digest names. */
  Set<Path> strangers() throws IOException {
    var result = new TreeSet<Path>();
    try (Stream<Path> all = Files.walk(blobs, 2)) {
      all.filter(path -> !Files.isDirectory(path))
          .filter(path -> digest(path).isEmpty())
          .forEach(result::add);
    }
    return result;
  }

  /** Blobs whose arrival was interrupted. */
  Set<Digest> partials() throws IOException {
    var result = new TreeSet<Digest>();
    for (Path file : files(ingest)) {
      String name = file.getFileName().toString();
      if (name.endsWith(PARTIAL)) {
        String[] parts = name.substring(0, name.length() - PARTIAL.length()).split("-", 2);
        digest(parts[0], parts[parts.length - 1]).ifPresent(result::add);
      }
    }
    return result;
  }

  long deletePartial(Digest digest) throws IOException {
    Path file = partial(digest);
    long size = Files.exists(file) ? Files.size(file) : 0;
    Files.deleteIfExists(file);
    return size;
  }

  private Path partial(Digest digest) {
    return ingest.resolve(digest.algorithm() + "-" + digest.hex() + PARTIAL);
  }

  private static Optional<Digest> digest(Path file) {
    Path parent = file.getParent();
    return parent == null
        ? Optional.empty()
        : digest(parent.getFileName().toString(), file.getFileName().toString());
  }

  private static Optional<Digest> digest(String algorithm, String hex) {
    try {
      return Optional.of(new Digest(algorithm, hex));
    } catch (AgentException.InvalidSpec _) {
      return Optional.empty();
    }
  }

  private static Set<Path> files(Path directory) throws IOException {
    try (Stream<Path> all = Files.list(directory)) {
      return new TreeSet<>(all.toList());
    }
  }

  private static IOException missing(Digest digest, IOException cause) {
    return new IOException(
        "blob %s is missing: the image store is damaged; run 'zlayer image fsck --repair'"
            .formatted(digest),
        cause);
  }
}

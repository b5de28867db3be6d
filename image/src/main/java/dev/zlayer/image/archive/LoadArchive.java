package dev.zlayer.image.archive;

import dev.zlayer.error.AgentException;
import dev.zlayer.image.layer.Decompression;
import dev.zlayer.image.manifest.Descriptor;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.image.manifest.ManifestReader;
import dev.zlayer.image.store.BlobWriter;
import dev.zlayer.image.store.DiskContentStore;
import dev.zlayer.image.store.DiskContentStore.Stored;
import dev.zlayer.image.store.Leases;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads an image archive in one pass, whatever the order of its files: each goes into the store
 * under the digest it turns out to have, and only at the end it is known what it was. A file that
 * claims a digest has to have it. Nothing is ever written under a name from the archive.
 */
public final class LoadArchive {
  private static final int MAX_FILES = 20_000;

  /** An image of the archive, all blobs of which are in the store; dangling without a name. */
  public record Loaded(Descriptor manifest, List<ImageRef> names) {
    public Loaded {
      names = List.copyOf(names);
    }
  }

  private final DiskContentStore content;
  private final Leases.Lease lease;
  private final Map<String, Stored> files = new HashMap<>();
  private final Map<String, String> links = new HashMap<>();
  private final Map<String, byte[]> documents = new HashMap<>();

  /** The lease holds everything that was read, also what turns out to be needless. */
  public LoadArchive(DiskContentStore content, Leases.Lease lease) {
    this.content = content;
    this.lease = lease;
  }

  public List<Loaded> read(InputStream in, Platform wanted)
      throws IOException, InterruptedException {
    var tar = new TarReader(Decompression.open(in));
    Optional<TarMember> member = tar.next();
    while (member.isPresent()) {
      take(tar, member.get());
      if (files.size() + links.size() > MAX_FILES) {
        throw new InvalidImageException("the archive has over %d files".formatted(MAX_FILES));
      }
      member = tar.next();
    }
    if (documents.containsKey(SaveArchive.INDEX_FILE)) {
      return new OciLayout(content, this).images(wanted);
    }
    if (documents.containsKey(SaveArchive.DOCKER_FILE)) {
      return new DockerArchive(content, lease, this).images();
    }
    throw new InvalidImageException(
        "it is no image archive: it has neither %s nor %s"
            .formatted(SaveArchive.INDEX_FILE, SaveArchive.DOCKER_FILE));
  }

  private void take(TarReader tar, TarMember member) throws IOException, InterruptedException {
    String name = normal(member.name());
    switch (member.kind()) {
      case FILE -> {
        if (name.equals(SaveArchive.INDEX_FILE) || name.equals(SaveArchive.DOCKER_FILE)) {
          documents.put(name, document(tar, member));
        } else {
          files.put(name, store(tar, name));
        }
      }
      case SYMLINK -> links.put(name, normal(parent(name) + member.linkName()));
      case HARD_LINK -> links.put(name, normal(member.linkName()));
      default -> {} // directories carry nothing, and devices do not belong here
    }
  }

  private static byte[] document(TarReader tar, TarMember member)
      throws IOException, InterruptedException {
    if (member.size() > ManifestReader.MAX_BYTES) {
      throw new InvalidImageException(
          "%s is over %d bytes".formatted(member.name(), ManifestReader.MAX_BYTES));
    }
    var bytes = new ByteArrayOutputStream();
    tar.content((_, data, from, length) -> bytes.write(data, from, length));
    return bytes.toByteArray();
  }

  private Stored store(TarReader tar, String name) throws IOException, InterruptedException {
    Optional<Digest> claimed = claimed(name);
    String algorithm = claimed.map(Digest::algorithm).orElse("sha256");
    Stored stored;
    try (BlobWriter writer = content.writer(algorithm)) {
      tar.content((_, data, from, length) -> writer.write(data, from, length));
      stored = writer.commit(lease);
    }
    if (claimed.isPresent() && !claimed.get().equals(stored.digest())) {
      throw new InvalidImageException("%s has the digest %s".formatted(name, stored.digest()));
    }
    return stored;
  }

  /** The digest that a file of an OCI layout has as its name. */
  private static Optional<Digest> claimed(String name) throws InvalidImageException {
    if (!name.startsWith(SaveArchive.BLOBS)) {
      return Optional.empty();
    }
    String[] parts = name.split("/", -1);
    try {
      return Optional.of(new Digest(parts[1], parts[parts.length - 1]));
    } catch (AgentException.InvalidSpec e) {
      throw new InvalidImageException("%s is not named after a digest".formatted(name), e);
    }
  }

  /** A document of the archive, or nothing. */
  Optional<byte[]> document(String name) {
    return Optional.ofNullable(documents.get(name));
  }

  /** What a name in a document stands for; links lead to one file, never further. */
  Stored file(String name) throws InvalidImageException {
    String path = normal(name);
    Stored stored = files.get(path);
    if (stored == null) {
      stored = files.get(links.getOrDefault(path, ""));
    }
    if (stored == null) {
      throw new InvalidImageException(
          "the archive names the file '%s' and does not have it".formatted(path));
    }
    return stored;
  }

  private static String parent(String name) {
    return name.substring(0, name.lastIndexOf('/') + 1);
  }

  /** Without dots; what leads out of the archive leads to its top instead, and so to nothing. */
  private static String normal(String name) {
    var parts = new ArrayDeque<String>();
    for (String part : name.split("/", -1)) {
      if (part.equals("..")) {
        parts.pollLast();
      } else if (!part.isEmpty() && !part.equals(".")) {
        parts.addLast(part);
      }
    }
    return String.join("/", parts);
  }
}

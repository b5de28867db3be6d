package dev.zlayer.runtime.wasm.module;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.image.store.Hashes;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Files by digest: modules that containers were made of, so that a container starts again whatever
 * became of its image, and what was compiled of them. A file appears whole or not at all.
 */
public final class ModuleStore {
  private final Path directory;
  private final String suffix;

  private ModuleStore(Path directory, String suffix) {
    this.directory = directory;
    this.suffix = suffix;
  }

  public static ModuleStore open(Path directory, String suffix) throws IOException {
    Files.createDirectories(directory);
    return new ModuleStore(directory, suffix);
  }

  /** Keeps a module and tells what to ask for. */
  public Digest put(byte[] module) throws IOException {
    Digest digest = Hashes.sha256(module);
    if (!Files.exists(file(digest))) {
      AtomicFile.write(file(digest), module);
    }
    return digest;
  }

  /** A module, verified. */
  public byte[] read(Digest digest) throws IOException {
    byte[] module;
    try {
      module = Files.readAllBytes(file(digest));
    } catch (NoSuchFileException e) {
      throw new IOException("the module %s does not exist".formatted(digest.brief()), e);
    }
    if (!Hashes.sha256(module).equals(digest)) {
      throw new AgentException.Configuration(
          "%s is damaged: remove it and pull the image again".formatted(file(digest)));
    }
    return module;
  }

  Path file(Digest digest) {
    return directory.resolve(digest.hex() + suffix);
  }

  /** Notes a use, so that the file is among the last to go. */
  void used(Digest digest, Instant now) throws IOException {
    if (Files.exists(file(digest))) {
      Files.setLastModifiedTime(file(digest), FileTime.from(now));
    }
  }

  /** Deletes what was not used for longest and nobody needs, until the rest is small enough. */
  public void trim(Set<Digest> needed, long bytes) throws IOException {
    var others = new ArrayList<Path>();
    try (Stream<Path> files = Files.list(directory)) {
      files
          .filter(file -> needed.stream().noneMatch(digest -> file(digest).equals(file)))
          .forEach(others::add);
    }
    List<Entry> entries = new ArrayList<>();
    for (Path file : others) {
      entries.add(new Entry(file, Files.size(file), Files.getLastModifiedTime(file)));
    }
    entries.sort(Comparator.comparing(Entry::used).reversed());
    long total = 0;
    for (Entry entry : entries) {
      total += entry.size();
      if (total > bytes || !entry.path().toString().endsWith(suffix)) {
        Files.deleteIfExists(entry.path());
      }
    }
  }

  private record Entry(Path path, long size, FileTime used) {}
}

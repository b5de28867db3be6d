package dev.zlayer.bench.pull;

import dev.zlayer.bench.engine.Tool;
import dev.zlayer.bench.engine.Trees;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Mounts;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * New file systems, as mkfs makes them by default: one for each contestant, and one for each pull.
 * On a common one whoever comes after a clean-up is punished: ext4 without a journal searches long
 * for inodes where many were deleted in the last minutes.
 */
public final class FreshPlaces {
  /** Room for some 500,000 files: a default file system has an inode for each 16 KiB. */
  private static final long SIZE = 8L << 30;

  private final Path parent;
  private int count;

  public FreshPlaces(Path parent) {
    this.parent = parent;
  }

  /** An empty directory, with nothing left to be written by those before. */
  Path next() throws IOException, InterruptedException {
    return make("place-" + count++);
  }

  /** The same under a name that is not in use. */
  public Path make(String name) throws IOException, InterruptedException {
    Path place = Files.createDirectories(parent.resolve(name));
    try (var file = new RandomAccessFile(image(place).toFile(), "rw")) {
      file.setLength(SIZE); // a hole: only what is written takes space
    }
    try {
      Tool.run("mkfs.ext4", "-q", "-F", "-E", "nodiscard", image(place).toString());
      Tool.run("mount", "-o", "loop,noinit_itable", image(place).toString(), place.toString());
    } catch (AgentException _) {
      // no loop devices here: a directory of the common file system has to do
    }
    Tool.run("sync");
    return place;
  }

  void discard(Path place) throws IOException {
    if (Mounts.mounted(place)) {
      Mounts.detach(place);
    } else {
      Trees.delete(place);
    }
    Files.delete(image(place));
  }

  private static Path image(Path place) {
    return Path.of(place + ".img");
  }
}

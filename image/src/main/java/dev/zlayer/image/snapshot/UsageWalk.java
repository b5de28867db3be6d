package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** Sums up a tree that may change meanwhile. Owned by one thread. */
final class UsageWalk {
  private static final int MAX_DEPTH = 1024;

  private final Set<Long> linked = new HashSet<>();
  private long bytes;
  private long inodes;

  private UsageWalk() {}

  static SnapshotUsage of(Path tree) throws IOException {
    var walk = new UsageWalk();
    try (var root = RootedDirectory.open(tree)) {
      walk.walk(root.root(), 0);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while adding up " + tree);
    }
    return new SnapshotUsage(walk.bytes, walk.inodes);
  }

  private void walk(OpenDirectory directory, int depth) throws IOException, InterruptedException {
    directory.visit(
        name -> {
          Optional<FileStat> found = directory.find(name);
          if (found.isEmpty()) {
            return; // deleted since it was listed
          }
          FileStat stat = found.get();
          if (stat.kind() == FileKind.DIRECTORY) {
            inodes++;
            if (depth < MAX_DEPTH) {
              enter(directory, name, depth);
            }
          } else if (stat.links() <= 1 || linked.add(stat.inode())) {
            inodes++;
            bytes += stat.kind() == FileKind.FILE ? stat.size() : 0;
          }
        });
  }

  private void enter(OpenDirectory directory, String name, int depth)
      throws IOException, InterruptedException {
    OpenDirectory below = directory.enter(name);
    try {
      walk(below, depth + 1);
    } finally {
      below.close();
    }
  }
}

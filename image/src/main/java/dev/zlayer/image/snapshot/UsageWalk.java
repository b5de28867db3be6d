package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.TreeWalk;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/** Sums up a tree that may change meanwhile. Owned by one thread. */
final class UsageWalk implements TreeWalk.Visitor {
  private final Set<Long> linked = new HashSet<>();
  private long bytes;
  private long inodes;

  private UsageWalk() {}

  static SnapshotUsage of(Path tree) throws IOException {
    var walk = new UsageWalk();
    try {
      BlockingPool.TREES.call(
          () -> {
            try (var root = RootedDirectory.open(tree)) {
              TreeWalk.below(root.root(), walk);
              return true;
            }
          });
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while adding up " + tree);
    }
    return new SnapshotUsage(walk.bytes, walk.inodes);
  }

  @Override
  public void entry(OpenDirectory parent, TreeWalk.Place at) {
    FileStat stat = at.stat();
    if (stat.links() <= 1 || linked.add(stat.inode())) {
      inodes++;
      bytes += stat.kind() == FileKind.FILE ? stat.size() : 0;
    }
  }

  @Override
  public boolean enter(OpenDirectory directory, TreeWalk.Place at) {
    inodes++;
    return true;
  }
}

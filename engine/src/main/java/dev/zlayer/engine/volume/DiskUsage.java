package dev.zlayer.engine.volume;

import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.TreeWalk;
import dev.zlayer.task.BlockingPool;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * Adds up the files below a directory until time runs out; a file with several names counts once.
 * What is too much to be remembered makes the sum incomplete. Owned by one thread.
 */
final class DiskUsage implements TreeWalk.Visitor {
  private static final int MAX_LINKED = 100_000;

  private record Inode(long device, long number) {}

  private final Deadline deadline;
  private final Set<Inode> linked = new HashSet<>();
  private long bytes;
  private long files;
  private boolean complete = true;

  private DiskUsage(Deadline deadline) {
    this.deadline = deadline;
  }

  static VolumeInfo.Size of(Path directory, Deadline deadline) throws IOException {
    var usage = new DiskUsage(deadline);
    try {
      BlockingPool.TREES.call(
          () -> {
            try (var root = RootedDirectory.open(directory)) {
              TreeWalk.below(root.root(), usage);
              return true;
            }
          });
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while adding up " + directory);
    }
    return new VolumeInfo.Size(usage.bytes, usage.files, usage.complete);
  }

  @Override
  public void entry(OpenDirectory parent, TreeWalk.Place at) {
    FileStat stat = at.stat();
    if (inTime() && (stat.links() <= 1 || first(stat))) {
      bytes += stat.size();
      files++;
    }
  }

  /** Containers make as many as they like: those that are not remembered are not counted. */
  private boolean first(FileStat stat) {
    var inode = new Inode(stat.device(), stat.inode());
    if (linked.size() < MAX_LINKED) {
      return linked.add(inode);
    }
    complete &= linked.contains(inode);
    return false;
  }

  @Override
  public boolean enter(OpenDirectory directory, TreeWalk.Place at) {
    complete &= at.depth() < TreeWalk.MAX_DEPTH;
    return inTime();
  }

  private boolean inTime() {
    complete &= !deadline.passed();
    return complete;
  }
}

package dev.zlayer.host.linux;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A position in a tree that moves one directory at a time. Holds a bounded number of descriptors,
 * however deep the tree is: a directory far above is closed, and opened again on the way back
 * through {@code ..}, which has to be the directory that was entered. Owned by one thread.
 */
public final class TreeCursor implements AutoCloseable {
  private static final int OPEN_LEVELS = 32;

  private static final class Level {
    final long device;
    final long inode;
    @Nullable OpenDirectory directory;

    Level(FileStat stat, OpenDirectory directory) {
      this.device = stat.device();
      this.inode = stat.inode();
      this.directory = directory;
    }
  }

  private final OpenDirectory start;
  private final List<Level> levels = new ArrayList<>();

  /** Begins at a directory that stays its owner's. */
  public TreeCursor(OpenDirectory start) {
    this.start = start;
  }

  /** Valid until the next move. */
  public OpenDirectory directory() {
    return at(levels.size());
  }

  public void enter(String name) throws ErrnoException {
    OpenDirectory below = directory().enter(name);
    try {
      levels.add(new Level(below.stat(OpenDirectory.SELF), below));
    } catch (ErrnoException e) {
      below.close();
      throw e;
    }
    int far = levels.size() - 1 - OPEN_LEVELS;
    if (far >= 0) {
      close(levels.get(far));
    }
  }

  /** Back to the directory above; fails when it was moved meanwhile. */
  public void leave() throws ErrnoException {
    int above = levels.size() - 1;
    if (above > 0 && levels.get(above - 1).directory == null) {
      reopen(levels.get(above - 1));
    }
    close(levels.remove(above));
  }

  private void reopen(Level level) throws ErrnoException {
    OpenDirectory opened = directory().parent();
    try {
      FileStat stat = opened.stat(OpenDirectory.SELF);
      if (stat.device() != level.device || stat.inode() != level.inode) {
        throw new ErrnoException(
            "a directory was moved while its tree was read", ErrnoException.ESTALE);
      }
      level.directory = opened;
    } catch (ErrnoException e) {
      opened.close();
      throw e;
    }
  }

  private OpenDirectory at(int depth) {
    if (depth == 0) {
      return start;
    }
    OpenDirectory directory = levels.get(depth - 1).directory;
    if (directory == null) {
      throw new IllegalStateException("the current directory is always open");
    }
    return directory;
  }

  private static void close(Level level) {
    if (level.directory != null) {
      level.directory.close();
      level.directory = null;
    }
  }

  @Override
  public void close() {
    levels.forEach(TreeCursor::close);
    levels.clear();
  }
}

package dev.zlayer.daemon.docker;

import dev.zlayer.container.FileChange;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;

/**
 * How much a container takes on disk.
 *
 * @param changed what differs from its image
 * @param root with the image
 */
record ContainerSizes(long changed, long root) {
  private static final int TYPE = 0170000;
  private static final int REGULAR = 0100000;

  static ContainerSizes of(Container container, ContainerFacts facts) {
    long changed = 0;
    if (container instanceof Archivable files) {
      for (FileChange change : files.changes()) {
        changed += change.kind() == FileChange.Kind.DELETED ? 0 : size(files, change.path());
      }
    }
    long image = facts.image().map(known -> known.info().contentBytes()).orElse(0L);
    return new ContainerSizes(changed, image + changed);
  }

  private static long size(Archivable files, String path) {
    try {
      var stat = files.stat(path);
      return (stat.mode() & TYPE) == REGULAR ? stat.size() : 0;
    } catch (AgentException _) {
      return 0; // removed while we look
    }
  }
}

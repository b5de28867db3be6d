package dev.zlayer.runtime.observe;

import dev.zlayer.container.IdRange;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.tar.TarWriter;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Optional;

/** Archives of whole root file systems, and of what overlayfs keeps of a container's changes. */
public final class RootExport {
  private RootExport() {}

  /**
   * Everything below a root that is mounted.
   *
   * @param ids users of the container, if it has any of its own
   */
  public static void whole(Path root, Optional<IdRange> ids, OutputStream out)
      throws IOException, InterruptedException {
    write(root, new TarWriter(out), ids, TreeArchive.Form.FILES);
  }

  /** The upper directory of an overlay as a layer of an image. */
  public static void layer(Path upper, OutputStream out) throws IOException, InterruptedException {
    write(upper, new TarWriter(out), Optional.empty(), TreeArchive.Form.LAYER);
  }

  private static void write(
      Path directory, TarWriter tar, Optional<IdRange> ids, TreeArchive.Form form)
      throws IOException, InterruptedException {
    BlockingPool.STREAMS.call(
        () -> {
          try (var rooted = RootedDirectory.open(directory)) {
            new TreeArchive(tar, ids, form).addContent(rooted.root(), "");
            tar.finish();
            return true;
          }
        });
  }
}

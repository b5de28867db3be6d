package dev.zlayer.runtime.observe;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.tar.TarException;
import dev.zlayer.tar.TarReader;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Archives of directories that belong to no container, such as volumes: owners, modes, links,
 * extended attributes and holes are kept, those of the directory itself too.
 */
public final class DirectoryArchive {
  private DirectoryArchive() {}

  public static void write(Path directory, OutputStream out)
      throws IOException, InterruptedException {
    RootExport.whole(directory, Optional.empty(), out);
  }

  /** Unpacks into an empty directory and brings it to the disk. */
  public static void read(Path directory, InputStream in) throws IOException, InterruptedException {
    BlockingPool.STREAMS.call(
        () -> {
          try (var rooted = RootedDirectory.open(directory)) {
            TreeUnpack.whole(rooted).unpack(new TarReader(in));
            rooted.sync();
            return true;
          } catch (TarException e) {
            throw new AgentException.InvalidSpec(String.valueOf(e.getMessage()), e);
          }
        });
  }
}

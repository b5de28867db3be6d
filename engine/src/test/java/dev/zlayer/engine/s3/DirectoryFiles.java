package dev.zlayer.engine.s3;

import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** A directory of the machine as if it were a container, through the real tar program. */
record DirectoryFiles(Path root) implements Archivable {
  @Override
  public PathStat stat(String path) {
    try {
      Map<String, Object> facts =
          Files.readAttributes(
              at(path), "unix:size,mode,lastModifiedTime", LinkOption.NOFOLLOW_LINKS);
      return new PathStat(
          path,
          (Long) facts.get("size"),
          (Integer) facts.get("mode"),
          Files.getLastModifiedTime(at(path), LinkOption.NOFOLLOW_LINKS).toInstant(),
          Optional.empty());
    } catch (IOException e) {
      throw new AgentException.NotFound("path " + path, e.toString());
    }
  }

  @Override
  public void copyOut(String path, OutputStream out) throws InterruptedException {
    stat(path);
    Path file = at(path);
    Path parent = Objects.requireNonNull(file.getParent());
    try {
      Process tar = start("tar", "-C", parent + "", "-cf", "-", file.getFileName() + "");
      tar.getInputStream().transferTo(out);
      tar.waitFor();
    } catch (IOException e) {
      throw new AgentException.Internal("cannot copy: " + e.getMessage(), e);
    }
  }

  @Override
  public void copyIn(String directory, InputStream in) throws InterruptedException {
    try {
      Process tar = start("tar", "-C", at(directory) + "", "--no-same-owner", "-xf", "-");
      try (OutputStream to = tar.getOutputStream()) {
        in.transferTo(to);
      }
      if (tar.waitFor() != 0) {
        throw new AgentException.Internal("tar failed");
      }
    } catch (IOException e) {
      throw new AgentException.Internal("cannot copy: " + e.getMessage(), e);
    }
  }

  @Override
  public List<FileChange> changes() {
    return List.of();
  }

  private Path at(String path) {
    return root.resolve(path.substring(1));
  }

  private static Process start(String... command) throws IOException {
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
  }
}

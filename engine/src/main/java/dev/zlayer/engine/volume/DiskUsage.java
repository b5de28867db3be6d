package dev.zlayer.engine.volume;

import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.FileVisitor;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashSet;
import java.util.Set;

/**
 * Adds up the files below a directory until time runs out; a file with several names counts once.
 */
final class DiskUsage {
  private long bytes;
  private long files;
  private boolean complete = true;

  private DiskUsage() {}

  static VolumeInfo.Size of(Path directory, Deadline deadline) throws IOException {
    var usage = new DiskUsage();
    Files.walkFileTree(directory, usage.visitor(deadline));
    return new VolumeInfo.Size(usage.bytes, usage.files, usage.complete);
  }

  private FileVisitor<Path> visitor(Deadline deadline) {
    Set<Object> seen = new HashSet<>();
    return new SimpleFileVisitor<>() {
      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes facts) throws IOException {
        if (deadline.passed()) {
          complete = false;
          return FileVisitResult.TERMINATE;
        }
        if (single(file) || seen.add(String.valueOf(facts.fileKey()))) {
          bytes += facts.size();
          files++;
        }
        return FileVisitResult.CONTINUE;
      }

      // what vanishes while we look, or cannot be read, is not counted
      @Override
      public FileVisitResult visitFileFailed(Path file, IOException e) {
        complete = false;
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult postVisitDirectory(
          Path directory, @org.jspecify.annotations.Nullable IOException e) {
        return FileVisitResult.CONTINUE;
      }
    };
  }

  private static boolean single(Path file) {
    try {
      return Files.getAttribute(file, "unix:nlink", LinkOption.NOFOLLOW_LINKS).equals(1);
    } catch (IOException | RuntimeException _) {
      return true;
    }
  }
}

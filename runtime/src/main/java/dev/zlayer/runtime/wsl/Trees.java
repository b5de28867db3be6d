package dev.zlayer.runtime.wsl;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Removes directories of the agent's own, on whatever system it runs. */
final class Trees {
  private Trees() {}

  /** Absent is fine; links are removed, not followed. */
  static void remove(Path directory) throws IOException {
    try {
      Files.walkFileTree(
          directory,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                throws IOException {
              Files.deleteIfExists(file);
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path path, @Nullable IOException problem)
                throws IOException {
              if (problem != null) {
                throw problem;
              }
              Files.deleteIfExists(path);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (NoSuchFileException _) {
      // it is as wanted
    }
  }
}

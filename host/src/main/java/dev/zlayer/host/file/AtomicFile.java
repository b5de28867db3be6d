package dev.zlayer.host.file;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Replaces a file so that a reader, and the next start after a crash, sees the old or the new one.
 * An interrupt does not disturb it: the work is short, and the flag is there again afterwards.
 */
public final class AtomicFile {
  private static final Set<StandardOpenOption> NEW =
      Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);

  /** What we keep may contain secrets. */
  private static final FileAttribute<?>[] PRIVATE = {
    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
  };

  private static final FileAttribute<?>[] INHERITED = {};

  /** Two threads that replace the same file do not disturb each other. */
  private static final AtomicLong NUMBERS = new AtomicLong();

  private AtomicFile() {}

  /** Writes the content of a file, piece by piece. */
  @FunctionalInterface
  public interface Content {
    void write(OutputStream out) throws IOException;
  }

  public static void write(Path file, byte[] content) throws IOException {
    write(file, out -> out.write(content));
  }

  /** For content that is better not held as a whole. */
  public static void write(Path file, Content content) throws IOException {
    Uninterrupted.run(() -> replace(file, content));
  }

  private static void replace(Path file, Content content) throws IOException {
    Path temporary = Files.createTempFile(parent(file), ".", ".tmp");
    try {
      try (var channel = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
        content.write(Channels.newOutputStream(channel));
        channel.force(true);
      }
      Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
      syncDirectory(parent(file));
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /**
   * Like {@link #write} without waiting for the disk: whole after a crash of this process, perhaps
   * lost after a power failure.
   */
  public static void writeRelaxed(Path file, byte[] content) throws IOException {
    Uninterrupted.run(() -> replaceRelaxed(file, content));
  }

  private static void replaceRelaxed(Path file, byte[] content) throws IOException {
    Path temporary =
        parent(file).resolve("." + file.getFileName() + "-" + NUMBERS.incrementAndGet() + ".tmp");
    try {
      try (var channel = Files.newByteChannel(temporary, NEW, privately(temporary))) {
        ByteBuffer buffer = ByteBuffer.wrap(content);
        while (buffer.hasRemaining()) {
          channel.write(buffer);
        }
      }
      Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      Files.deleteIfExists(temporary);
      throw e;
    }
  }

  /** Makes a name lead to another file of its directory, whatever it was before. */
  public static void link(Path name, Path target) throws IOException {
    Uninterrupted.run(
        () -> {
          Path temporary =
              parent(name)
                  .resolve("." + name.getFileName() + "-" + NUMBERS.incrementAndGet() + ".tmp");
          Files.deleteIfExists(temporary); // of a process that was killed
          try {
            Files.createSymbolicLink(temporary, target.getFileName());
            Files.move(temporary, name, StandardCopyOption.ATOMIC_MOVE);
            syncDirectory(parent(name));
          } finally {
            Files.deleteIfExists(temporary);
          }
        });
  }

  /** Renames a file that is complete and synced, and makes the rename itself durable. */
  public static void publish(Path complete, Path target) throws IOException {
    Files.move(complete, target, StandardCopyOption.ATOMIC_MOVE);
    syncDirectory(parent(target));
  }

  /** Makes durable that the file is where it is; its content has to be synced, too. */
  public static void syncName(Path file) throws IOException {
    syncDirectory(parent(file));
  }

  /** Returns when the content of a file that somebody else wrote is on the disk. */
  public static void syncFile(Path file) throws IOException {
    Uninterrupted.run(
        () -> {
          // Windows flushes only what may be written
          try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.force(true);
          }
        });
  }

  public static void syncDirectory(Path directory) throws IOException {
    if (!posix(directory)) {
      return; // Windows opens no directories, and its file system writes renames to a journal
    }
    Uninterrupted.run(
        () -> {
          try (var channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
          }
        });
  }

  /** Where there are no modes, a file is as open as its directory. */
  private static FileAttribute<?>[] privately(Path file) {
    return posix(file) ? PRIVATE : INHERITED;
  }

  private static boolean posix(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  private static Path parent(Path file) {
    return Objects.requireNonNull(file.toAbsolutePath().getParent(), "the root is not a file");
  }
}

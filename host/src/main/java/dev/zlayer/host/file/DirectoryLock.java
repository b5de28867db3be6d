package dev.zlayer.host.file;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * One owner for a data directory at a time. The kernel releases the lock when the owner dies, so
 * there is nothing stale to clean up; the file only tells people the owner's pid.
 */
public final class DirectoryLock implements AutoCloseable {
  private final FileChannel channel;

  private DirectoryLock(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * Takes the lock without waiting.
   *
   * @throws AgentException.Configuration somebody else holds it; names the pid
   */
  public static DirectoryLock take(Path file) {
    try {
      Files.createDirectories(file.toAbsolutePath().getParent());
      PrivateDirectory.file(file);
      FileChannel channel =
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
      if (tryLock(channel) == null) {
        channel.close();
        throw new AgentException.Configuration(
            "%s is in use by process %s: stop it first, or choose another directory"
                .formatted(file.getParent(), owner(file)));
      }
      channel.truncate(0);
      channel.write(
          ByteBuffer.wrap(
              Long.toString(ProcessHandle.current().pid()).getBytes(StandardCharsets.UTF_8)));
      return new DirectoryLock(channel);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot lock %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException _) {
      // the kernel drops the lock with the descriptor, whatever close reports
    }
  }

  private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException _) {
      return null;
    }
  }

  private static String owner(Path file) throws IOException {
    String text = Files.readString(file).strip();
    return text.isEmpty() ? "unknown" : text;
  }
}

package dev.zlayer.host.file;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * Space that is set aside for removals: on a full disk even those have something to write. The file
 * is deleted when a removal needs its space and made anew when there is enough again; meanwhile
 * nothing new may be made, so that removals alone get it. May be used from any thread.
 */
public final class DiskReserve {
  private static final System.Logger LOG = LazyLogger.of(DiskReserve.class);
  private static final int SIZE = 16 << 20;

  /** With less than this, writing has to be expected to fail. */
  private static final long LOW = 4 << 20;

  private final Path file;

  private DiskReserve(Path file) {
    this.file = file;
  }

  /** Makes it; on a disk that is full already it is released, so that the agent can start. */
  public static DiskReserve open(Path file) {
    var reserve = new DiskReserve(file);
    reserve.release();
    reserve.restore();
    return reserve;
  }

  /** Before something that frees space: gives up the reserve if there is no other space left. */
  public synchronized void release() {
    try {
      if (free() < LOW && Files.deleteIfExists(file)) {
        LOG.log(
            System.Logger.Level.WARNING,
            "the disk of %s is full: its reserve was released for removals"
                .formatted(file.getParent()));
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Sets the space aside again, once there is enough of it. */
  public synchronized void restore() {
    try {
      if (!whole() && free() >= SIZE + 2 * LOW) {
        fill();
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Why nothing new can be made at the moment. */
  public synchronized Optional<String> shortage() {
    restore();
    try {
      long free = free();
      return whole() && free >= LOW
          ? Optional.empty()
          : Optional.of(
              "no space is left on the disk of %s, %d MiB are free: remove containers, images or volumes"
                  .formatted(file.getParent(), free >> 20));
    } catch (IOException e) {
      throw failed(e);
    }
  }

  private boolean whole() throws IOException {
    return Files.exists(file) && Files.size(file) == SIZE;
  }

  private long free() throws IOException {
    return Files.getFileStore(file.toAbsolutePath().getParent()).getUsableSpace();
  }

  /** Really written: a hole would set nothing aside. */
  private void fill() throws IOException {
    try (var channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      ByteBuffer zeros = ByteBuffer.allocate(1 << 20);
      for (long written = 0; written < SIZE; written += zeros.capacity()) {
        zeros.clear();
        while (zeros.hasRemaining()) {
          channel.write(zeros);
        }
      }
    } catch (IOException e) {
      Files.deleteIfExists(file); // somebody else took the space meanwhile
      LOG.log(System.Logger.Level.WARNING, "no reserve could be made: " + e.getMessage());
    }
  }

  private AgentException failed(IOException e) {
    return new AgentException.Configuration(
        "the reserve %s cannot be used: %s".formatted(file, e.getMessage()), e);
  }
}

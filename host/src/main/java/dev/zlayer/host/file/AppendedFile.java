package dev.zlayer.host.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Adds to the end of a file that is there, which costs no inode. A crash can leave a part of what
 * was added: whoever reads has to tell a whole piece from a torn one. An interrupt does not disturb
 * it.
 */
public final class AppendedFile {
  private AppendedFile() {}

  /**
   * Puts {@code piece} behind the first {@code length} bytes; what a failed call left there goes.
   */
  public static void append(Path file, long length, byte[] piece) throws IOException {
    Uninterrupted.run(() -> append(file, length, piece, false));
  }

  /** Like {@link #append}, and all the file holds is on the disk when this returns. */
  public static void appendDurably(Path file, long length, byte[] piece) throws IOException {
    Uninterrupted.run(() -> append(file, length, piece, true));
  }

  private static void append(Path file, long length, byte[] piece, boolean durably)
      throws IOException {
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      long size = channel.size();
      if (size < length) {
        throw new IOException("it was cut to %d of %d bytes".formatted(size, length));
      } else if (size > length) {
        channel.truncate(length);
      }
      // at a place, not at the end: done again after an interrupt it is there once
      ByteBuffer buffer = ByteBuffer.wrap(piece);
      while (buffer.hasRemaining()) {
        channel.write(buffer, length + buffer.position());
      }
      if (durably) {
        channel.force(true);
      }
    }
  }
}

package dev.zlayer.image.layer;

import dev.zlayer.host.linux.FileTimes;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Times of directories, to be set once nothing is made in them any more. A layer may have millions
 * of directories and a small heap has to do, so all but the first go through a file.
 */
final class PathJournal implements AutoCloseable {
  private static final int IN_MEMORY = 256 * 1024;

  /** Takes one record back. */
  @FunctionalInterface
  interface Reader {
    void accept(String path, FileTimes times) throws IOException;
  }

  private final Path file;
  private final ByteArrayOutputStream memory = new ByteArrayOutputStream();
  private @Nullable OutputStream spilled;

  PathJournal(Path file) {
    this.file = file;
  }

  void add(String path, FileTimes times) throws IOException {
    if (spilled == null && memory.size() > IN_MEMORY) {
      spilled = new BufferedOutputStream(Files.newOutputStream(file), 64 * 1024);
    }
    var out = new DataOutputStream(spilled == null ? memory : spilled);
    byte[] bytes = path.getBytes(StandardCharsets.ISO_8859_1);
    out.writeShort(bytes.length);
    out.write(bytes);
    out.writeLong(times.accessedSeconds());
    out.writeInt(times.accessedNanos());
    out.writeLong(times.modifiedSeconds());
    out.writeInt(times.modifiedNanos());
  }

  /** All records in the order they came. */
  void replay(Reader reader) throws IOException {
    read(new ByteArrayInputStream(memory.toByteArray()), reader);
    if (spilled != null) {
      spilled.flush();
      try (var in = Files.newInputStream(file)) {
        read(new BufferedInputStream(in, 64 * 1024), reader);
      }
    }
  }

  @Override
  public void close() throws IOException {
    if (spilled != null) {
      spilled.close();
      Files.deleteIfExists(file);
    }
  }

  private static void read(InputStream from, Reader reader) throws IOException {
    var in = new DataInputStream(from);
    while (true) {
      byte[] bytes;
      try {
        bytes = new byte[in.readUnsignedShort()];
      } catch (EOFException _) {
        return;
      }
      in.readFully(bytes);
      String path = new String(bytes, StandardCharsets.ISO_8859_1);
      reader.accept(path, new FileTimes(in.readLong(), in.readInt(), in.readLong(), in.readInt()));
    }
  }
}

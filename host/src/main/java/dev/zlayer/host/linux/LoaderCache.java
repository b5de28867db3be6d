package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The libraries that the dynamic loader knows, from the file that {@code ldconfig} writes. */
final class LoaderCache {
  private static final byte[] MAGIC = "glibc-ld.so.cache1.1".getBytes(StandardCharsets.US_ASCII);
  private static final int HEADER = 48;
  private static final int ENTRY = 24;

  /** One library: the name that programs ask for, and where it is. */
  record Entry(String name, String path) {}

  private LoaderCache() {}

  /** Nothing where there is no such file, as on a host with another C library. */
  static List<Entry> read(Path file) throws IOException {
    try {
      return parse(Files.readAllBytes(file));
    } catch (NoSuchFileException _) {
      return List.of();
    }
  }

  /**
   * An old file has a table of an older format first, with the new one behind it; places of texts
   * are counted from where the new one begins.
   */
  static List<Entry> parse(byte[] file) throws IOException {
    int start = start(file);
    if (start < 0 || start + HEADER > file.length) {
      throw new IOException("the loader's cache has an unknown format; run ldconfig");
    }
    var bytes = ByteBuffer.wrap(file).order(ByteOrder.nativeOrder());
    int count = bytes.getInt(start + MAGIC.length);
    if (count < 0 || start + HEADER + (long) count * ENTRY > file.length) {
      throw new IOException("the loader's cache is cut off; run ldconfig");
    }
    var entries = new ArrayList<Entry>(count);
    for (int i = 0; i < count; i++) {
      int at = start + HEADER + i * ENTRY;
      entries.add(
          new Entry(
              text(file, start + (long) bytes.getInt(at + 4)),
              text(file, start + (long) bytes.getInt(at + 8))));
    }
    return entries;
  }

  private static int start(byte[] file) {
    for (int at = 0; at + MAGIC.length <= file.length; at += 4) {
      if (java.util.Arrays.equals(file, at, at + MAGIC.length, MAGIC, 0, MAGIC.length)) {
        return at;
      }
    }
    return -1;
  }

  private static String text(byte[] file, long at) throws IOException {
    if (at < 0 || at >= file.length) {
      throw new IOException("the loader's cache is cut off; run ldconfig");
    }
    int end = (int) at;
    while (end < file.length && file[end] != 0) {
      end++;
    }
    return new String(file, (int) at, end - (int) at, StandardCharsets.UTF_8);
  }
}

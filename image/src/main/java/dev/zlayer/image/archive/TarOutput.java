package dev.zlayer.image.archive;

import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;

/** Writes plain files into an archive that is the same whoever writes it: no times, no owners. */
final class TarOutput implements AutoCloseable {
  private static final TarMember.TarTime NO_TIME = new TarMember.TarTime(0, 0);
  private static final int READABLE = 0644;

  private final TarWriter tar;

  TarOutput(OutputStream out) {
    this.tar = new TarWriter(out);
  }

  void file(String name, byte[] content) throws IOException {
    file(name, content.length, new ByteArrayInputStream(content));
  }

  void file(String name, long size, InputStream content) throws IOException {
    tar.begin(
        new TarMember(
            TarKind.FILE, name, "", READABLE, 0, 0, size, NO_TIME, NO_TIME, 0, 0, Map.of()));
    var buffer = new byte[1 << 16];
    long written = 0;
    int count = content.read(buffer);
    while (count >= 0 && written + count <= size) {
      tar.content(buffer, 0, count);
      written += count;
      count = content.read(buffer);
    }
    if (written != size || count > 0) {
      throw new IOException("%s does not have the %d bytes it should".formatted(name, size));
    }
  }

  /** Ends the archive; the stream below stays open. */
  @Override
  public void close() throws IOException {
    tar.finish();
  }
}

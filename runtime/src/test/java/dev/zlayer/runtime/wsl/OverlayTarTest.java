package dev.zlayer.runtime.wsl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.tar.TarReader;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Layers made to hurt, on their way into a distribution. */
class OverlayTarTest {
  @Test
  void holesAreBounded() {
    var hole =
        TarEntry.file("hole", "xxxxxx")
            .withPax("GNU.sparse.map", ascii("0,6"))
            .withPax("GNU.sparse.size", ascii("214748364800"));
    refused("holes of the layer", hole);
  }

  @Test
  void linksStayInTheLayer() throws Exception {
    refused("leads out of the layer", TarEntry.hardLink("h", "../../../etc/shadow"));
    refused("leads out of the layer", TarEntry.hardLink("h", "a/../../x"));
    String slashes = "./".repeat(1000);
    var out = new ByteArrayOutputStream();
    convert(out, TarEntry.file("f", "x"), TarEntry.hardLink("h", "/" + slashes + "f"));
    var reader = new TarReader(new ByteArrayInputStream(out.toByteArray()));
    assertThat(reader.next().orElseThrow().name()).isEqualTo("f");
    assertThat(reader.next().orElseThrow().linkName()).isEqualTo("f");
  }

  @Test
  void namesAreBounded() {
    refused("too long", TarEntry.hardLink("h", "./".repeat(200_000) + "f"));
    refused("too long", TarEntry.file("n/".repeat(200_000) + "f", "x"));
    byte[] entry = TarWriter.archive(List.of(TarEntry.file("d/" + "n".repeat(3000), "")));
    int header = entry.length - 1024; // without the end of the archive
    assertThatThrownBy(
            () ->
                OverlayTar.convert(
                    new Repeated(entry, header, 100_000), OutputStream.nullOutputStream()))
        .hasMessageContaining("too many to be held");
  }

  /** The same member again and again. */
  private static final class Repeated extends java.io.InputStream {
    private final byte[] bytes;
    private final int length;
    private long left;
    private int at;

    Repeated(byte[] bytes, int length, long times) {
      this.bytes = bytes;
      this.length = length;
      this.left = times * length;
    }

    @Override
    public int read() {
      if (left-- <= 0) {
        return -1;
      }
      int value = bytes[at] & 0xff;
      at = (at + 1) % length;
      return value;
    }
  }

  private static void refused(String reason, TarEntry... entries) {
    assertThatThrownBy(() -> convert(OutputStream.nullOutputStream(), entries))
        .isInstanceOf(java.io.IOException.class)
        .hasMessageContaining(reason);
  }

  private static void convert(OutputStream out, TarEntry... entries) throws Exception {
    byte[] layer = TarWriter.archive(List.of(entries));
    OverlayTar.convert(new ByteArrayInputStream(layer), out);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}

package dev.zlayer.testkit.image;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes tar archives in ustar form, with pax records where ustar is too narrow. It checks nothing:
 * names that climb out, links to nowhere and headers that lie are what it is for.
 */
public final class TarWriter implements Closeable {
  private static final int BLOCK = 512;
  private static final int NAME = 100;
  private static final long MAX_OCTAL_7 = 07777777;
  private static final long MAX_OCTAL_11 = 077777777777L;

  private final OutputStream out;

  public TarWriter(OutputStream out) {
    this.out = out;
  }

  /** A whole archive with its end mark. */
  public static byte[] archive(List<TarEntry> entries) {
    var bytes = new ByteArrayOutputStream();
    try (var writer = new TarWriter(bytes)) {
      for (TarEntry entry : entries) {
        writer.add(entry);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  public TarWriter add(TarEntry entry) throws IOException {
    Map<String, byte[]> records = paxRecords(entry);
    if (!records.isEmpty()) {
      pax('x', records);
    }
    out.write(header(entry));
    padded(entry.content());
    return this;
  }

  /** A pax header of its own: {@code 'g'} holds for all entries after it, {@code 'x'} for one. */
  public TarWriter pax(char type, Map<String, byte[]> records) throws IOException {
    var body = new ByteArrayOutputStream();
    records.forEach((key, value) -> body.writeBytes(paxRecord(key, value)));
    out.write(header(TarEntry.of("pax", type, 0644, "", body.toByteArray())));
    padded(body.toByteArray());
    return this;
  }

  /**
   * The way of GNU tar to give the next entry a long name ({@code 'L'}) or target ({@code 'K'}).
   */
  public TarWriter gnuLong(char type, String text) throws IOException {
    byte[] body = (text + "\0").getBytes(StandardCharsets.UTF_8);
    out.write(header(TarEntry.of("././@LongLink", type, 0, "", body)));
    padded(body);
    return this;
  }

  /** Any bytes, for garbage between entries or an archive cut short. */
  public TarWriter raw(byte[] bytes) throws IOException {
    out.write(bytes);
    return this;
  }

  /** The end mark, without closing; {@link #close} does both. */
  public void finish() throws IOException {
    out.write(new byte[2 * BLOCK]);
  }

  @Override
  public void close() throws IOException {
    finish();
    out.close();
  }

  private static Map<String, byte[]> paxRecords(TarEntry entry) {
    var records = new LinkedHashMap<String, byte[]>();
    if (!fits(entry.path())) {
      records.put("path", utf8(entry.path()));
    }
    if (!fits(entry.link())) {
      records.put("linkpath", utf8(entry.link()));
    }
    if (entry.uid() > MAX_OCTAL_7) {
      records.put("uid", utf8(Long.toString(entry.uid())));
    }
    if (entry.gid() > MAX_OCTAL_7) {
      records.put("gid", utf8(Long.toString(entry.gid())));
    }
    Instant modified = entry.modified();
    if (modified.getNano() != 0 || modified.getEpochSecond() < 0) {
      var seconds = java.math.BigDecimal.valueOf(modified.getEpochSecond());
      var nanos = java.math.BigDecimal.valueOf(modified.getNano(), 9);
      records.put("mtime", utf8(seconds.add(nanos).toPlainString()));
    }
    records.putAll(entry.pax());
    return records;
  }

  private static boolean fits(String name) {
    return utf8(name).length <= NAME && name.chars().allMatch(c -> c < 128);
  }

  /** {@code length key=value\n}, where the length counts itself. */
  private static byte[] paxRecord(String key, byte[] value) {
    int rest = utf8(key).length + value.length + 3;
    int length = rest + Integer.toString(rest).length();
    if (rest + Integer.toString(length).length() != length) {
      length = rest + Integer.toString(length).length();
    }
    var out = new ByteArrayOutputStream();
    out.writeBytes(utf8(length + " " + key + "="));
    out.writeBytes(value);
    out.write('\n');
    return out.toByteArray();
  }

  private static byte[] header(TarEntry entry) {
    var block = new byte[BLOCK];
    text(block, 0, NAME, entry.path());
    octal(block, 100, 8, entry.mode());
    octal(block, 108, 8, Math.min(entry.uid(), MAX_OCTAL_7));
    octal(block, 116, 8, Math.min(entry.gid(), MAX_OCTAL_7));
    octal(block, 124, 12, entry.declaredSize().orElse(entry.content().length));
    octal(block, 136, 12, Math.max(0, entry.modified().getEpochSecond()));
    block[156] = (byte) entry.type();
    text(block, 157, NAME, entry.link());
    text(block, 257, 8, "ustar\00000");
    octal(block, 329, 8, entry.major());
    octal(block, 337, 8, entry.minor());
    entry.patch().ifPresent(patch -> patch.accept(block));
    checksum(block, entry.badChecksum());
    return block;
  }

  private static void checksum(byte[] block, boolean bad) {
    Arrays.fill(block, 148, 156, (byte) ' ');
    int sum = bad ? 1 : 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    text(block, 148, 8, "%06o\0 ".formatted(sum));
  }

  private static void octal(byte[] block, int offset, int width, long value) {
    long limit = width == 12 ? MAX_OCTAL_11 : MAX_OCTAL_7;
    if (value < 0 || value > limit) {
      base256(block, offset, width, value);
    } else {
      text(block, offset, width, ("%0" + (width - 1) + "o").formatted(value));
    }
  }

  /** How GNU tar writes numbers that do not fit, negative ones too. */
  private static void base256(byte[] block, int offset, int width, long value) {
    for (int i = 0; i < width; i++) {
      int shift = (width - 1 - i) * 8;
      block[offset + i] = (byte) (shift >= 64 ? value >> 63 : value >> shift);
    }
    block[offset] |= (byte) 0x80;
  }

  private static void text(byte[] block, int offset, int width, String text) {
    byte[] bytes = utf8(text);
    System.arraycopy(bytes, 0, block, offset, Math.min(width, bytes.length));
  }

  private void padded(byte[] content) throws IOException {
    out.write(content);
    out.write(new byte[(BLOCK - content.length % BLOCK) % BLOCK]);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}

package dev.zlayer.tar;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Writes an archive member by member, in the pax format: what the old header cannot hold (long or
 * non-ASCII names, large numbers, fractions of seconds, extended attributes) goes into records
 * before it. Owned by one thread; the caller closes the stream.
 */
public final class TarWriter {
  private static final int BLOCK = TarHeader.BLOCK;
  private static final long MAX_SIZE = 0777_7777_7777L;
  private static final long MAX_ID = 0777_7777L;

  private final OutputStream out;
  private long missing;
  private int padding;

  public TarWriter(OutputStream out) {
    this.out = out;
  }

  /** Begins a member; for a file exactly {@link TarMember#size} bytes of content have to follow. */
  public void begin(TarMember member) throws IOException {
    long size = member.kind().hasContent() ? member.size() : 0;
    begin(member, size, records(member, member.name(), size));
    missing = size;
  }

  /**
   * Begins a file of which only these parts have to follow, one after the other; the rest are
   * holes. They are in rising order and inside the file. Written in GNU's sparse format 1.0, unless
   * the parts are all of the file.
   */
  public void begin(TarMember member, List<TarRange> parts) throws IOException {
    long stored = parts.stream().mapToLong(TarRange::length).sum();
    if (stored == member.size()) {
      begin(member);
      return;
    }
    byte[] map = map(member, parts);
    long size = map.length + stored;
    var records = new ByteArrayOutputStream();
    record(records, "GNU.sparse.major", raw("1"));
    record(records, "GNU.sparse.minor", raw("0"));
    record(records, "GNU.sparse.name", raw(member.name()));
    record(records, "GNU.sparse.realsize", raw(Long.toString(member.size())));
    records.write(records(member, "", size));
    begin(member, size, records.toByteArray());
    out.write(map);
    missing = stored;
  }

  private void begin(TarMember member, long size, byte[] records) throws IOException {
    if (missing > 0) {
      throw new IllegalStateException(missing + " bytes of the member before are missing");
    }
    pad();
    if (records.length > 0) {
      out.write(header(member, "PaxHeaders/member", 'x', records.length));
      out.write(records);
      out.write(new byte[rest(records.length)]);
    }
    out.write(header(member, member.name(), type(member.kind()), size));
    padding = rest(size);
  }

  /** Numbers on lines of their own, in whole blocks: how many parts, then where each is. */
  private static byte[] map(TarMember member, List<TarRange> parts) {
    var lines = new StringBuilder();
    lines.append(parts.size() + 1).append('\n');
    for (TarRange part : parts) {
      lines.append(part.offset()).append('\n').append(part.length()).append('\n');
    }
    lines.append(member.size()).append("\n0\n"); // the file may end in a hole
    byte[] bytes = raw(lines.toString());
    return Arrays.copyOf(bytes, bytes.length + rest(bytes.length));
  }

  public void content(byte[] bytes, int from, int length) throws IOException {
    if (length > missing) {
      throw new IllegalStateException("more content than the header says");
    }
    out.write(bytes, from, length);
    missing -= length;
  }

  /** Ends the archive. */
  public void finish() throws IOException {
    pad();
    out.write(new byte[2 * BLOCK]);
    out.flush();
  }

  private void pad() throws IOException {
    out.write(new byte[padding]);
    padding = 0;
  }

  private static byte[] header(TarMember member, String name, char type, long size) {
    var block = new byte[BLOCK];
    text(block, 0, 100, name);
    octal(block, 100, 8, member.permissions());
    octal(block, 108, 8, fits(member.user(), MAX_ID));
    octal(block, 116, 8, fits(member.group(), MAX_ID));
    octal(block, 124, 12, fits(size, MAX_SIZE));
    octal(block, 136, 12, fits(member.modified().seconds(), MAX_SIZE));
    Arrays.fill(block, 148, 156, (byte) ' ');
    block[156] = (byte) type;
    if (type != 'x') {
      text(block, 157, 100, member.linkName());
    }
    text(block, 257, 8, "ustar\00000");
    octal(block, 329, 8, fits(member.major(), MAX_ID));
    octal(block, 337, 8, fits(member.minor(), MAX_ID));
    long sum = 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    octal(block, 148, 7, sum);
    return block;
  }

  private static byte[] records(TarMember member, String name, long size) throws IOException {
    var records = new ByteArrayOutputStream();
    if (!plain(name)) {
      record(records, "path", raw(name));
    }
    if (!plain(member.linkName())) {
      record(records, "linkpath", raw(member.linkName()));
    }
    number(records, "uid", member.user(), MAX_ID);
    number(records, "gid", member.group(), MAX_ID);
    number(records, "size", size, MAX_SIZE);
    TarMember.TarTime modified = member.modified();
    if (modified.nanos() != 0 || modified.seconds() != fits(modified.seconds(), MAX_SIZE)) {
      record(records, "mtime", raw(decimal(modified)));
    }
    for (Map.Entry<String, byte[]> attribute : member.attributes().entrySet()) {
      record(records, "SCHILY.xattr." + attribute.getKey(), attribute.getValue());
    }
    return records.toByteArray();
  }

  /** {@code -0.5} seconds are second -1 and half a second after it. */
  private static String decimal(TarMember.TarTime time) {
    return BigDecimal.valueOf(time.seconds())
        .add(BigDecimal.valueOf(time.nanos(), 9))
        .toPlainString();
  }

  private static void number(OutputStream records, String key, long value, long max)
      throws IOException {
    if (value != fits(value, max)) {
      record(records, key, raw(Long.toString(value)));
    }
  }

  /** {@code length key=value\n}, where the length counts its own digits. */
  private static void record(OutputStream records, String key, byte[] value) throws IOException {
    int bare = key.length() + value.length + 3;
    int length = bare + Integer.toString(bare).length();
    length = bare + Integer.toString(length).length();
    records.write(raw(length + " " + key + "="));
    records.write(value);
    records.write('\n');
  }

  /** Whether the old header can hold a name: short, and without bytes that need an encoding. */
  private static boolean plain(String name) {
    return name.length() <= 100 && name.chars().allMatch(c -> c > 0 && c < 0x80);
  }

  private static long fits(long value, long max) {
    return value < 0 || value > max ? 0 : value;
  }

  private static void text(byte[] block, int at, int length, String text) {
    byte[] bytes = raw(text);
    System.arraycopy(bytes, 0, block, at, Math.min(length, bytes.length));
  }

  private static void octal(byte[] block, int at, int length, long value) {
    String digits = Long.toOctalString(value);
    text(block, at, length, "0".repeat(length - 1 - digits.length()) + digits + "\0");
  }

  private static byte[] raw(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static int rest(long size) {
    return (int) ((BLOCK - size % BLOCK) % BLOCK);
  }

  private static char type(TarKind kind) {
    return switch (kind) {
      case FILE -> '0';
      case HARD_LINK -> '1';
      case SYMLINK -> '2';
      case CHARACTER_DEVICE -> '3';
      case BLOCK_DEVICE -> '4';
      case DIRECTORY -> '5';
      case FIFO -> '6';
    };
  }
}

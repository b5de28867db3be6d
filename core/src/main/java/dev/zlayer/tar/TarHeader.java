package dev.zlayer.tar;

import java.nio.charset.StandardCharsets;

/** The fields of one header block, read leniently where tar programs differ. */
final class TarHeader {
  static final int BLOCK = 512;
  private static final int CHECKSUM = 148;

  private final byte[] block;

  TarHeader(byte[] block) {
    this.block = block;
  }

  boolean zero() {
    for (byte b : block) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }

  /** The sum of all bytes with blanks for the field itself; some programs added signed bytes. */
  boolean checksumFits() throws TarException {
    long unsigned = 0;
    long signed = 0;
    for (int i = 0; i < BLOCK; i++) {
      byte b = i >= CHECKSUM && i < CHECKSUM + 8 ? (byte) ' ' : block[i];
      unsigned += b & 0xff;
      signed += b;
    }
    long claimed = number(CHECKSUM, 8, "checksum");
    return claimed == unsigned || claimed == signed;
  }

  char type() {
    return (char) (block[156] & 0xff);
  }

  /** The name, with the prefix of ustar. */
  String name() {
    String name = text(0, 100);
    if (!ustar()) {
      return name;
    }
    // star keeps times behind a shorter prefix and signs the block
    boolean star = text(508, 4).equals("tar");
    String prefix = text(345, star ? 131 : 155);
    return prefix.isEmpty() ? name : prefix + "/" + name;
  }

  String linkName() {
    return text(157, 100);
  }

  int permissions() throws TarException {
    return (int) number(100, 8, "mode") & 07777;
  }

  long user() throws TarException {
    return number(108, 8, "uid");
  }

  long group() throws TarException {
    return number(116, 8, "gid");
  }

  long size() throws TarException {
    return number(124, 12, "size");
  }

  long modified() throws TarException {
    return number(136, 12, "mtime");
  }

  long major() throws TarException {
    return devices() ? number(329, 8, "devmajor") : 0;
  }

  long minor() throws TarException {
    return devices() ? number(337, 8, "devminor") : 0;
  }

  /** A number of the sparse structures of GNU tar. */
  long sparseNumber(int offset) throws TarException {
    return number(offset, 12, "sparse map");
  }

  boolean flag(int offset) {
    return block[offset] != 0;
  }

  private boolean ustar() {
    return text(257, 6).equals("ustar") && block[262] == 0;
  }

  private boolean devices() {
    return text(257, 5).equals("ustar");
  }

  private String text(int offset, int width) {
    int end = offset;
    while (end < offset + width && block[end] != 0) {
      end++;
    }
    return new String(block, offset, end - offset, StandardCharsets.ISO_8859_1);
  }

  /** Octal digits between blanks or zero bytes; or binary, marked by the highest bit. */
  private long number(int offset, int width, String field) throws TarException {
    if ((block[offset] & 0x80) != 0) {
      return binary(offset, width, field);
    }
    String digits = text(offset, width).strip();
    // the first bytes may be zero bytes that only pad
    if (digits.isEmpty()) {
      return 0;
    }
    long value = 0;
    for (int i = 0; i < digits.length(); i++) {
      int digit = digits.charAt(i) - '0';
      if (digit < 0 || digit > 7) {
        throw new TarException(name(), "field " + field + " is not an octal number");
      }
      value = value * 8 + digit;
    }
    return value;
  }

  private long binary(int offset, int width, String field) throws TarException {
    boolean negative = (block[offset] & 0x40) != 0;
    long value = negative ? -1 : 0;
    for (int i = 0; i < width; i++) {
      int b = block[offset + i] & 0xff;
      if (i == 0) {
        b = negative ? b | 0x80 : b & 0x7f;
      }
      if (value != (value << 8) >> 8) {
        throw new TarException(name(), "field " + field + " does not fit into 64 bits");
      }
      value = value << 8 | b;
    }
    return value;
  }
}

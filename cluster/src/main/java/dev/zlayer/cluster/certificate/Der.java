package dev.zlayer.cluster.certificate;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The few forms of DER that a certificate is made of (X.690). */
final class Der {
  private static final DateTimeFormatter SHORT_TIME =
      DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);
  private static final DateTimeFormatter LONG_TIME =
      DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);

  /** From here on, certificates have times with all digits of the year. */
  private static final Instant LONG_YEARS = Instant.parse("2050-01-01T00:00:00Z");

  private Der() {}

  static byte[] sequence(byte[]... parts) {
    return tagged(0x30, parts);
  }

  static byte[] set(byte[]... parts) {
    return tagged(0x31, parts);
  }

  static byte[] integer(BigInteger value) {
    return tagged(0x02, value.toByteArray());
  }

  static byte[] yes() {
    return tagged(0x01, new byte[] {(byte) 0xff});
  }

  static byte[] text(String value) {
    return tagged(0x0c, value.getBytes(StandardCharsets.UTF_8));
  }

  static byte[] octets(byte[] value) {
    return tagged(0x04, value);
  }

  /** The last {@code unused} bits do not count. */
  static byte[] bits(int unused, byte[] value) {
    return tagged(0x03, new byte[] {(byte) unused}, value);
  }

  static byte[] time(Instant at) {
    return at.isBefore(LONG_YEARS)
        ? tagged(0x17, SHORT_TIME.format(at).getBytes(StandardCharsets.US_ASCII))
        : tagged(0x18, LONG_TIME.format(at).getBytes(StandardCharsets.US_ASCII));
  }

  static byte[] oid(int... numbers) {
    var out = new ByteArrayOutputStream();
    out.write(numbers[0] * 40 + numbers[1]);
    for (int i = 2; i < numbers.length; i++) {
      for (int shift = 28; shift >= 0; shift -= 7) {
        if (shift == 0 || numbers[i] >> shift != 0) {
          out.write(((numbers[i] >> shift) & 0x7f) | (shift == 0 ? 0 : 0x80));
        }
      }
    }
    return tagged(0x06, out.toByteArray());
  }

  static byte[] tagged(int tag, byte[]... parts) {
    int length = 0;
    for (byte[] part : parts) {
      length += part.length;
    }
    var out = new ByteArrayOutputStream(length + 6);
    out.write(tag);
    if (length < 0x80) {
      out.write(length);
    } else {
      byte[] count = BigInteger.valueOf(length).toByteArray();
      byte[] digits = count[0] == 0 ? java.util.Arrays.copyOfRange(count, 1, count.length) : count;
      out.write(0x80 | digits.length);
      out.writeBytes(digits);
    }
    for (byte[] part : parts) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }
}

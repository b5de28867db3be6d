package dev.zlayer.engine.s3;

import dev.zlayer.error.AgentException;
import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.ServerSideEncryption;

/**
 * Compares content with the entity tag of its object: the MD5 of the whole, or for one that was
 * sent in parts the MD5 of the parts' MD5s. Which size the parts had is known of objects we sent.
 */
final class Integrity {
  static final String PART_SIZE = "zlayer-part-size";

  private static final Pattern TAG = Pattern.compile("\"?([0-9a-f]{32})(-[0-9]+)?\"?");

  private final Optional<String> expected;
  private final long partSize;
  private final MessageDigest current = digest();
  private final ByteArrayOutputStream parts = new ByteArrayOutputStream();
  private long inPart;

  private Integrity(Optional<String> expected, long partSize) {
    this.expected = expected;
    this.partSize = partSize;
  }

  static Integrity of(HeadObjectResponse object) {
    Matcher tag = TAG.matcher(String.valueOf(object.eTag()));
    if (!tag.matches() || sealed(object)) {
      return new Integrity(Optional.empty(), 0);
    }
    if (tag.group(2) == null) {
      return new Integrity(Optional.of(tag.group(1)), 0);
    }
    String size = object.metadata().get(PART_SIZE);
    return size != null && size.matches("[0-9]{1,15}") && Long.parseLong(size) > 0
        ? new Integrity(Optional.of(tag.group(1)), Long.parseLong(size))
        : new Integrity(Optional.empty(), 0);
  }

  /** Whether there is something to compare with. */
  boolean checked() {
    return expected.isPresent();
  }

  void update(byte[] bytes, int from, int length) {
    int at = from;
    int left = length;
    while (left > 0) {
      int now = partSize == 0 ? left : (int) Math.min(left, partSize - inPart);
      current.update(bytes, at, now);
      inPart += now;
      at += now;
      left -= now;
      if (partSize > 0 && inPart == partSize) {
        endPart();
      }
    }
  }

  /** True as well when there is nothing to compare with. */
  boolean holds() {
    if (expected.isEmpty()) {
      return true;
    }
    if (partSize == 0) {
      return expected.get().equals(HexFormat.of().formatHex(current.digest()));
    }
    if (inPart > 0) {
      endPart();
    }
    byte[] all = parts.toByteArray();
    return expected.get().equals(HexFormat.of().formatHex(md5(all, all.length)));
  }

  static byte[] md5(byte[] bytes, int length) {
    MessageDigest digest = digest();
    digest.update(bytes, 0, length);
    return digest.digest();
  }

  private void endPart() {
    parts.writeBytes(current.digest());
    inPart = 0;
  }

  /** The tag of what a store has encrypted with keys of its own is no checksum. */
  private static boolean sealed(HeadObjectResponse object) {
    @Nullable ServerSideEncryption way = object.serverSideEncryption();
    return object.sseCustomerAlgorithm() != null
        || (way != null && way != ServerSideEncryption.AES256);
  }

  private static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("MD5");
    } catch (NoSuchAlgorithmException e) {
      throw new AgentException.Internal("every JDK has MD5", e);
    }
  }
}

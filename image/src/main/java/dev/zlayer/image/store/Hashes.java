package dev.zlayer.image.store;

import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Hashing with the algorithms that digests name. */
public final class Hashes {
  private static final int BUFFER = 128 << 10;

  private Hashes() {}

  static MessageDigest begin(String algorithm) {
    try {
      return MessageDigest.getInstance(algorithm.equals("sha256") ? "SHA-256" : "SHA-512");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-2", e);
    }
  }

  static Digest end(String algorithm, MessageDigest hash) {
    return new Digest(algorithm, HexFormat.of().formatHex(hash.digest()));
  }

  /** The digest of bytes in the algorithm that {@code like} uses. */
  public static Digest of(byte[] content, Digest like) {
    MessageDigest hash = begin(like.algorithm());
    hash.update(content);
    return end(like.algorithm(), hash);
  }

  public static Digest sha256(byte[] content) {
    MessageDigest hash = begin("sha256");
    hash.update(content);
    return end("sha256", hash);
  }

  /** The digest of a whole stream, which stays open. */
  public static Digest sha256(InputStream content) throws IOException {
    MessageDigest hash = begin("sha256");
    update(hash, content);
    return end("sha256", hash);
  }

  static Digest of(Path file, String algorithm) throws IOException {
    MessageDigest hash = begin(algorithm);
    try (InputStream in = Files.newInputStream(file)) {
      update(hash, in);
    }
    return end(algorithm, hash);
  }

  static long update(MessageDigest hash, InputStream content) throws IOException {
    var buffer = new byte[BUFFER];
    long total = 0;
    int count = content.read(buffer);
    while (count >= 0) {
      hash.update(buffer, 0, count);
      total += count;
      count = content.read(buffer);
    }
    return total;
  }
}

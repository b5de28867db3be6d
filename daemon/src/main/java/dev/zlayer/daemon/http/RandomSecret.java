package dev.zlayer.daemon.http;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HexFormat;

/**
 * Secrets that the agent makes for callers: 256 random bits each, so that their SHA-256, from which
 * nobody gets back to them, needs no salt and is all that is stored.
 */
public final class RandomSecret {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int ID_BYTES = 6;
  private static final int SECRET_BYTES = 32;

  /** How many characters {@link #id} has. */
  public static final int ID_LENGTH = 2 * ID_BYTES;

  private RandomSecret() {}

  /** What names a secret without being one. */
  public static String id() {
    return HexFormat.of().formatHex(bytes(ID_BYTES));
  }

  /** In characters that need no escape in a URL, a header or a cookie. */
  public static String next() {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes(SECRET_BYTES));
  }

  private static byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  /** SHA-256 in hexadecimal digits. */
  public static String hash(String secret) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new AgentException.Internal("SHA-256 is missing", e);
    }
  }

  /** Compares in a time that does not depend on how much is right. */
  public static boolean equal(String one, String other) {
    return MessageDigest.isEqual(
        one.getBytes(StandardCharsets.UTF_8), other.getBytes(StandardCharsets.UTF_8));
  }
}

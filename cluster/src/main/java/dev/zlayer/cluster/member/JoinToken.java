package dev.zlayer.cluster.member;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What lets one node join. It names the certificate of the cluster's authority, so that whoever
 * joins knows whom it speaks to.
 *
 * @param authority SHA-256 of that certificate, in hexadecimal
 * @param id under which the cluster knows it
 */
public record JoinToken(String authority, String id, String secret) {
  private static final Pattern FORM =
      Pattern.compile("zljoin-([0-9a-f]{64})-([0-9a-f]{16})-([0-9a-f]{48})");
  private static final int ID_BYTES = 8;
  private static final int SECRET_BYTES = 24;

  public static JoinToken create(String authority) {
    var random = new SecureRandom();
    return new JoinToken(authority, hex(random, ID_BYTES), hex(random, SECRET_BYTES));
  }

  public static JoinToken parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "not a join token; copy all of it from 'zlayer cluster token'");
    }
    return new JoinToken(form.group(1), form.group(2), form.group(3));
  }

  /** What a new node is given. */
  public String text() {
    return "zljoin-%s-%s-%s".formatted(authority, id, secret);
  }

  /** What the cluster keeps: enough to recognise the secret, not to know it. */
  String digest() {
    return digest(secret);
  }

  static String digest(String secret) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256")
                  .digest(secret.getBytes(StandardCharsets.US_ASCII)));
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("there is no SHA-256", e);
    }
  }

  static boolean equal(String one, String other) {
    return MessageDigest.isEqual(
        one.getBytes(StandardCharsets.US_ASCII), other.getBytes(StandardCharsets.US_ASCII));
  }

  private static String hex(SecureRandom random, int bytes) {
    byte[] value = new byte[bytes];
    random.nextBytes(value);
    return HexFormat.of().formatHex(value);
  }

  /** Without the secret, for messages. */
  @Override
  public String toString() {
    return "join token " + id;
  }
}

package dev.zlayer.oci;

import dev.zlayer.error.AgentException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** The content address of a blob: an algorithm we can verify and its lower-case hex. */
public record Digest(String algorithm, String hex) implements Comparable<Digest> {
  private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");
  private static final Pattern SHA512 = Pattern.compile("[0-9a-f]{128}");

  public Digest {
    Pattern expected =
        switch (algorithm) {
          case "sha256" -> SHA256;
          case "sha512" -> SHA512;
          default ->
              throw new AgentException.InvalidSpec(
                  "digest algorithm '" + algorithm + "' is not known: use sha256 or sha512");
        };
    if (!expected.matcher(hex).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s:%s' is not a digest: %s takes %d lower-case hex digits"
              .formatted(algorithm, hex, algorithm, algorithm.equals("sha256") ? 64 : 128));
    }
  }

  /** Parses {@code sha256:...}. */
  public static Digest parse(String text) {
    int colon = text.indexOf(':');
    if (colon < 0) {
      throw new AgentException.InvalidSpec("'" + text + "' is not a digest: write sha256:HEX");
    }
    return new Digest(text.substring(0, colon), text.substring(colon + 1));
  }

  public static Digest sha256(byte[] hash) {
    return new Digest("sha256", HexFormat.of().formatHex(hash));
  }

  /** The name of the algorithm as {@link java.security.MessageDigest} knows it. */
  public String javaAlgorithm() {
    return algorithm.equals("sha256") ? "SHA-256" : "SHA-512";
  }

  /** The first twelve hex digits, for people. */
  public String brief() {
    return hex.substring(0, 12);
  }

  @Override
  public int compareTo(Digest other) {
    return toString().compareTo(other.toString());
  }

  @Override
  public String toString() {
    return algorithm + ":" + hex;
  }
}

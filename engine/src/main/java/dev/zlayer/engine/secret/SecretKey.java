package dev.zlayer.engine.secret;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The key that secrets are sealed with: 32 random bytes, in a file that only its owner reads. */
public final class SecretKey {
  private static final int BYTES = 32;
  private static final Pattern FORM = Pattern.compile("[0-9a-f]{64}");
  private static final Set<PosixFilePermission> OWNER_ONLY =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  private final byte[] bytes;
  private final String origin;

  private SecretKey(byte[] bytes, String origin) {
    this.bytes = bytes;
    this.origin = origin;
  }

  /** A key that the operator gives by other means; {@code origin} names it in errors. */
  public static SecretKey of(String hex, String origin) {
    String text = hex.strip();
    if (!FORM.matcher(text).matches()) {
      throw new AgentException.Configuration(
          "%s does not hold a key: it takes 64 hexadecimal digits".formatted(origin));
    }
    return new SecretKey(HexFormat.of().parseHex(text), origin);
  }

  /**
   * The key in a file, which is made by the first use.
   *
   * @throws AgentException.Configuration others than its owner may read it, or it holds no key
   */
  public static SecretKey open(Path file) {
    try {
      if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
        create(file);
      }
      requirePrivate(file);
      return of(Files.readString(file, StandardCharsets.US_ASCII), file.toString());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the key file %s cannot be used: %s".formatted(file, e.getMessage()), e);
    }
  }

  String origin() {
    return origin;
  }

  /** A key for one purpose, so that none is used for two. */
  byte[] derive(String purpose) {
    return authenticate(bytes, purpose.getBytes(StandardCharsets.UTF_8));
  }

  static byte[] authenticate(byte[] key, byte[] message) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(message);
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has HmacSHA256", e);
    }
  }

  /** Written under another name, with the permissions of a new temporary file: owner only. */
  private static void create(Path file) throws IOException {
    Files.createDirectories(Objects.requireNonNull(file.toAbsolutePath().getParent()));
    var fresh = new byte[BYTES];
    new SecureRandom().nextBytes(fresh);
    AtomicFile.write(
        file, (HexFormat.of().formatHex(fresh) + "\n").getBytes(StandardCharsets.US_ASCII));
  }

  private static void requirePrivate(Path file) throws IOException {
    Set<PosixFilePermission> granted =
        EnumSet.copyOf(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS));
    granted.removeAll(OWNER_ONLY);
    if (Files.isSymbolicLink(file) || !granted.isEmpty()) {
      throw new AgentException.Configuration(
          "the key file %s may be used by others than its owner: set its mode to 0600, and set"
                  .formatted(file)
              + " all secrets anew if others had access");
    }
  }
}

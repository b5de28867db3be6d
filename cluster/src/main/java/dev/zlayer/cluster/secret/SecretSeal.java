package dev.zlayer.cluster.secret;

import dev.zlayer.cluster.certificate.DerivedKeys;
import dev.zlayer.error.AgentException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;

/**
 * What a cluster seals its secrets with: AES-256-GCM under keys that follow, by HKDF, from the key
 * of its authority. So the nodes that store the state have them, also those that join later, and
 * nobody else does. What is sealed is bound to the cluster and its name: put elsewhere, it does not
 * open. An earlier value of the same secret does, for whoever can write into the store and kept it.
 */
public final class SecretSeal {
  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;
  private static final int FINGERPRINT_BYTES = 8;
  private static final String PURPOSE = "zlayer cluster secrets 1: ";

  private final String cluster;
  private final SecretKey values;
  private final SecretKey fingerprints;
  private final SecureRandom random = new SecureRandom();

  private SecretSeal(String cluster, SecretKey values, SecretKey fingerprints) {
    this.cluster = cluster;
    this.values = values;
    this.fingerprints = fingerprints;
  }

  /** That of a cluster, from the key of its authority. */
  public static SecretSeal of(String cluster, PrivateKey authority) {
    return new SecretSeal(
        cluster,
        DerivedKeys.derive(authority, cluster, PURPOSE + "seal", "AES"),
        DerivedKeys.derive(authority, cluster, PURPOSE + "fingerprint", "HmacSHA256"));
  }

  byte[] close(SecretId id, long revision, byte[] content) {
    var nonce = new byte[NONCE];
    random.nextBytes(nonce);
    try {
      byte[] sealed = cipher(Cipher.ENCRYPT_MODE, id, revision, nonce).doFinal(content);
      return ByteBuffer.allocate(NONCE + sealed.length).put(nonce).put(sealed).array();
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has AES in GCM", e);
    }
  }

  /** Empty when it was sealed by another cluster, for another place, or changed since. */
  Optional<byte[]> open(SecretId id, long revision, byte[] sealed) {
    if (sealed.length < NONCE) {
      return Optional.empty();
    }
    try {
      byte[] nonce = Arrays.copyOf(sealed, NONCE);
      return Optional.of(
          cipher(Cipher.DECRYPT_MODE, id, revision, nonce)
              .doFinal(sealed, NONCE, sealed.length - NONCE));
    } catch (AEADBadTagException _) {
      return Optional.empty();
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has AES in GCM", e);
    }
  }

  /** Changes with the value, and says nothing about it without the key. */
  String fingerprint(SecretId id, byte[] content) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(fingerprints);
      byte[] path = id.path().getBytes(StandardCharsets.UTF_8);
      mac.update(ByteBuffer.allocate(4).putInt(path.length).array());
      mac.update(path);
      return HexFormat.of().formatHex(mac.doFinal(content), 0, FINGERPRINT_BYTES);
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has HmacSHA256", e);
    }
  }

  private Cipher cipher(int mode, SecretId id, long revision, byte[] nonce)
      throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, values, new GCMParameterSpec(TAG_BITS, nonce));
    // no part can have a line break
    cipher.updateAAD(
        "%s%s\n%s\n%d"
            .formatted(PURPOSE, cluster, id.path(), revision)
            .getBytes(StandardCharsets.UTF_8));
    return cipher;
  }
}

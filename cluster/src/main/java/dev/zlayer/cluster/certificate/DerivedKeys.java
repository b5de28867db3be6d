package dev.zlayer.cluster.certificate;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.interfaces.ECPrivateKey;
import java.util.Arrays;
import javax.crypto.KDF;
import javax.crypto.SecretKey;
import javax.crypto.spec.HKDFParameterSpec;

/**
 * Keys that follow, by HKDF, from the key of an authority: whoever has that one has them, without
 * anything that has to be given to them, and nobody else does.
 */
public final class DerivedKeys {
  private static final int BYTES = 32;

  private DerivedKeys() {}

  /** Another one for each cluster and each purpose; always the same for both. */
  public static SecretKey derive(
      PrivateKey authority, String cluster, String purpose, String algorithm) {
    if (!(authority instanceof ECPrivateKey key)) {
      throw new AgentException.Configuration("the key of the authority is of another kind");
    }
    byte[] root = fixed(key.getS().toByteArray());
    try {
      return KDF.getInstance("HKDF-SHA256")
          .deriveKey(
              algorithm,
              HKDFParameterSpec.ofExtract()
                  .addIKM(root)
                  .addSalt(cluster.getBytes(StandardCharsets.UTF_8))
                  .thenExpand(purpose.getBytes(StandardCharsets.UTF_8), BYTES));
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has HKDF", e);
    } finally {
      Arrays.fill(root, (byte) 0);
    }
  }

  /** A number has leading zeros or a sign in its bytes, or lacks some. */
  private static byte[] fixed(byte[] number) {
    var bytes = new byte[BYTES];
    int length = Math.min(number.length, BYTES);
    System.arraycopy(number, number.length - length, bytes, BYTES - length, length);
    return bytes;
  }
}

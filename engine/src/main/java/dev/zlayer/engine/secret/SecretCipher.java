package dev.zlayer.engine.secret;

import dev.zlayer.error.AgentException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * AES-256-GCM. What is sealed is bound to the place it is stored at: put elsewhere it does not
 * open.
 */
final class SecretCipher {
  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;
  private static final int FINGERPRINT_BYTES = 8;

  private final SecretKeySpec key;
  private final byte[] fingerprints;
  private final SecureRandom random = new SecureRandom();

  SecretCipher(SecretKey key) {
    this.key = new SecretKeySpec(key.derive("zlayer secrets: seal"), "AES");
    this.fingerprints = key.derive("zlayer secrets: fingerprint");
  }

  byte[] close(String place, byte[] content) {
    var nonce = new byte[NONCE];
    random.nextBytes(nonce);
    try {
      byte[] sealed = cipher(Cipher.ENCRYPT_MODE, place, nonce).doFinal(content);
      return ByteBuffer.allocate(NONCE + sealed.length).put(nonce).put(sealed).array();
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has AES in GCM", e);
    }
  }

  /** Empty when it was closed with another key, at another place, or changed since. */
  Optional<byte[]> open(String place, byte[] sealed) {
    if (sealed.length < NONCE) {
      return Optional.empty();
    }
    try {
      byte[] nonce = Arrays.copyOf(sealed, NONCE);
      return Optional.of(
          cipher(Cipher.DECRYPT_MODE, place, nonce).doFinal(sealed, NONCE, sealed.length - NONCE));
    } catch (AEADBadTagException _) {
      return Optional.empty();
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has AES in GCM", e);
    }
  }

  String fingerprint(String place, byte[] content) {
    byte[] name = place.getBytes(StandardCharsets.UTF_8);
    byte[] message =
        ByteBuffer.allocate(4 + name.length + content.length)
            .putInt(name.length)
            .put(name)
            .put(content)
            .array();
    return HexFormat.of()
        .formatHex(SecretKey.authenticate(fingerprints, message), 0, FINGERPRINT_BYTES);
  }

  private Cipher cipher(int mode, String place, byte[] nonce) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
    cipher.updateAAD(place.getBytes(StandardCharsets.UTF_8));
    return cipher;
  }
}

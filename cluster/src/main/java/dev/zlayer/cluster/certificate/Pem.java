package dev.zlayer.cluster.certificate;

import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keys and certificates as text. Keys are of elliptic curves. */
public final class Pem {
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ([A-Z ]+)-----([A-Za-z0-9+/=\\s]+)-----END \\1-----");
  private static final String CURVES = "EC";

  private Pem() {}

  public static String of(X509Certificate certificate) {
    try {
      return block("CERTIFICATE", certificate.getEncoded());
    } catch (CertificateException e) {
      throw new AgentException.Internal("a certificate cannot be encoded", e);
    }
  }

  public static String of(PrivateKey key) {
    return block("PRIVATE KEY", key.getEncoded());
  }

  public static String of(PublicKey key) {
    return block("PUBLIC KEY", key.getEncoded());
  }

  /** The first certificate. */
  public static X509Certificate certificate(String text) {
    return certificates(text).getFirst();
  }

  /** Throws {@link AgentException.InvalidSpec} when there is none. */
  public static List<X509Certificate> certificates(String text) {
    try {
      List<X509Certificate> found =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(
                  new ByteArrayInputStream(
                      certificatesOnly(text).getBytes(StandardCharsets.US_ASCII)))
              .stream()
              .map(X509Certificate.class::cast)
              .toList();
      if (found.isEmpty()) {
        throw new AgentException.InvalidSpec("there is no certificate in the text");
      }
      return found;
    } catch (CertificateException e) {
      throw new AgentException.InvalidSpec("not a certificate: " + e.getMessage(), e);
    }
  }

  /** A file may have the key beside its certificate, which the factory would take for one. */
  private static String certificatesOnly(String text) {
    return BLOCK
        .matcher(text)
        .replaceAll(block -> block.group(1).equals("CERTIFICATE") ? block.group() : "");
  }

  public static PrivateKey privateKey(String text) {
    try {
      return KeyFactory.getInstance(CURVES)
          .generatePrivate(new PKCS8EncodedKeySpec(bytes(text, "PRIVATE KEY")));
    } catch (GeneralSecurityException e) {
      throw new AgentException.InvalidSpec("not a private key: " + e.getMessage(), e);
    }
  }

  public static PublicKey publicKey(String text) {
    try {
      return KeyFactory.getInstance(CURVES)
          .generatePublic(new X509EncodedKeySpec(bytes(text, "PUBLIC KEY")));
    } catch (GeneralSecurityException e) {
      throw new AgentException.InvalidSpec("not a public key: " + e.getMessage(), e);
    }
  }

  /** SHA-256 of the encoded certificate, in hexadecimal. */
  public static String fingerprint(X509Certificate certificate) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(certificate.getEncoded()));
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("a certificate cannot be encoded", e);
    }
  }

  private static byte[] bytes(String text, String kind) {
    Matcher block = BLOCK.matcher(text);
    while (block.find()) {
      if (block.group(1).equals(kind)) {
        try {
          return Base64.getMimeDecoder().decode(block.group(2));
        } catch (IllegalArgumentException e) {
          throw new AgentException.InvalidSpec("%s is not base64".formatted(kind), e);
        }
      }
    }
    throw new AgentException.InvalidSpec("there is no %s in the text".formatted(kind));
  }

  private static String block(String kind, byte[] bytes) {
    String body =
        Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(bytes);
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(kind, body, kind);
  }
}

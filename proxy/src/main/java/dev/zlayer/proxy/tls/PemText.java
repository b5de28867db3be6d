package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringReader;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.x9.ECNamedCurveTable;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.openssl.PEMEncryptedKeyPair;
import org.bouncycastle.openssl.PEMKeyPair;
import org.bouncycastle.openssl.PEMParser;
import org.bouncycastle.openssl.jcajce.JcaPEMKeyConverter;
import org.bouncycastle.pkcs.PKCS8EncryptedPrivateKeyInfo;

/**
 * Certificates and a private key as PEM text, in any order and any of the usual notations.
 *
 * @param certificates in the order of the text
 */
record PemText(List<X509Certificate> certificates, Optional<PrivateKey> key) {
  PemText {
    certificates = List.copyOf(certificates);
  }

  /** Throws {@link AgentException.InvalidSpec} that never quotes the text. */
  static PemText parse(String text) {
    var certificates = new ArrayList<X509Certificate>();
    Optional<PrivateKey> key = Optional.empty();
    try (var parser = new PEMParser(new StringReader(text))) {
      for (Object found = parser.readObject(); found != null; found = parser.readObject()) {
        if (found instanceof X509CertificateHolder holder) {
          certificates.add(certificate(holder.getEncoded()));
        } else if (found instanceof PEMEncryptedKeyPair
            || found instanceof PKCS8EncryptedPrivateKeyInfo) {
          throw new AgentException.InvalidSpec(
              "its private key has a password; remove it with 'openssl pkey'");
        } else {
          Optional<PrivateKeyInfo> info = privateKey(found);
          if (info.isPresent() && key.isPresent()) {
            throw new AgentException.InvalidSpec("it has more than one private key");
          }
          key = info.isPresent() ? Optional.of(key(info.get())) : key;
        }
      }
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      if (e instanceof AgentException ours) {
        throw ours;
      }
      throw new AgentException.InvalidSpec("it is not PEM that can be read");
    }
    return new PemText(certificates, key);
  }

  private static Optional<PrivateKeyInfo> privateKey(Object found) {
    return switch (found) {
      case PrivateKeyInfo info -> Optional.of(info);
      case PEMKeyPair pair -> Optional.ofNullable(pair.getPrivateKeyInfo());
      default -> Optional.empty(); // parameters of curves, public keys
    };
  }

  private static PrivateKey key(PrivateKeyInfo info) throws IOException {
    return new JcaPEMKeyConverter().getPrivateKey(info);
  }

  static X509Certificate certificate(byte[] encoded) throws GeneralSecurityException {
    return (X509Certificate)
        CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(encoded));
  }

  static String print(List<X509Certificate> certificates) {
    var text = new StringBuilder();
    for (X509Certificate certificate : certificates) {
      try {
        text.append(block("CERTIFICATE", certificate.getEncoded()));
      } catch (GeneralSecurityException e) {
        throw new AgentException.Internal("a certificate cannot be written", e);
      }
    }
    return text.toString();
  }

  static String print(PrivateKey key) {
    return block("PRIVATE KEY", key.getEncoded());
  }

  private static String block(String label, byte[] content) {
    String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(label, lines, label);
  }

  /** A new key of the kind that every client knows: P-256. */
  static KeyPair generate() {
    try {
      var generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has P-256", e);
    }
  }

  /** Both halves of a key that {@link #generate} made and {@link #print} wrote. */
  static KeyPair keyPair(String text) {
    PrivateKey key =
        parse(text)
            .key()
            .filter(ECPrivateKey.class::isInstance)
            .orElseThrow(() -> new AgentException.InvalidSpec("it has no key on a curve"));
    return withPublic((ECPrivateKey) key);
  }

  /** The JDK does not compute the public half. */
  private static KeyPair withPublic(ECPrivateKey key) {
    var point = ECNamedCurveTable.getByName("secp256r1").getG().multiply(key.getS()).normalize();
    var spec =
        new ECPublicKeySpec(
            new ECPoint(
                point.getAffineXCoord().toBigInteger(), point.getAffineYCoord().toBigInteger()),
            key.getParams());
    try {
      return new KeyPair(KeyFactory.getInstance("EC").generatePublic(spec), key);
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("every JDK has P-256", e);
    }
  }
}

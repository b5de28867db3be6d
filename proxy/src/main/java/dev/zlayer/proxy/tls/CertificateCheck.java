package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECKey;
import java.security.interfaces.EdECKey;
import java.security.interfaces.RSAKey;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Whether a chain and a key can serve a host. Every refusal says what is wrong with which. */
final class CertificateCheck {
  private static final byte[] PROBE = "zlayer".getBytes(StandardCharsets.US_ASCII);
  private static final int DNS_NAME = 2;
  private static final int LEAST_RSA_BITS = 2048;
  private static final int LEAST_EC_BITS = 224;

  private CertificateCheck() {}

  /**
   * Reads a chain and its key from one text.
   *
   * @throws AgentException.InvalidSpec it cannot serve the host now
   */
  static PemPair pem(String text, String host, Instant now) {
    PemText pem = PemText.parse(text);
    PrivateKey key =
        pem.key()
            .orElseThrow(
                () ->
                    new AgentException.InvalidSpec(
                        "it has no private key: put the chain and the key in one text"));
    chain(pem.certificates());
    X509Certificate own = pem.certificates().getFirst();
    covers(own, host);
    fits(own, key);
    for (X509Certificate one : pem.certificates()) {
      valid(one, now);
      strong(one);
    }
    return new PemPair(
        PemText.print(pem.certificates()),
        PemText.print(key),
        pem.certificates().stream()
            .map(one -> one.getNotAfter().toInstant())
            .min(Instant::compareTo)
            .orElseThrow());
  }

  private static void chain(List<X509Certificate> certificates) {
    if (certificates.isEmpty()) {
      throw new AgentException.InvalidSpec("it has no certificate");
    }
    if (certificates.size() > 1 && certificates.getFirst().getBasicConstraints() >= 0) {
      throw new AgentException.InvalidSpec(
          "its first certificate is that of an authority (%s): put the host's own first, then its"
                  .formatted(name(certificates.getFirst()))
              + " issuers");
    }
    for (int index = 0; index + 1 < certificates.size(); index++) {
      X509Certificate one = certificates.get(index);
      X509Certificate issuer = certificates.get(index + 1);
      if (!issued(one, issuer)) {
        throw new AgentException.InvalidSpec(
            "certificate %d (%s) was not issued by certificate %d (%s): each is followed by its"
                    .formatted(index + 1, name(one), index + 2, name(issuer))
                + " issuer");
      }
    }
  }

  private static boolean issued(X509Certificate one, X509Certificate issuer) {
    try {
      one.verify(issuer.getPublicKey());
      return one.getIssuerX500Principal().equals(issuer.getSubjectX500Principal());
    } catch (GeneralSecurityException _) {
      return false;
    }
  }

  private static void valid(X509Certificate one, Instant now) {
    if (now.isAfter(one.getNotAfter().toInstant())) {
      throw new AgentException.InvalidSpec(
          "certificate %s expired at %s".formatted(name(one), one.getNotAfter().toInstant()));
    }
    if (now.isBefore(one.getNotBefore().toInstant())) {
      throw new AgentException.InvalidSpec(
          "certificate %s is not valid before %s"
              .formatted(name(one), one.getNotBefore().toInstant()));
    }
  }

  /** What HAProxy refuses to load, and with it the certificates of all other hosts. */
  private static void strong(X509Certificate one) {
    boolean key =
        switch (one.getPublicKey()) {
          case RSAKey rsa -> rsa.getModulus().bitLength() >= LEAST_RSA_BITS;
          case ECKey curve -> curve.getParams().getOrder().bitLength() >= LEAST_EC_BITS;
          case EdECKey _ -> true;
          default -> false;
        };
    if (!key) {
      throw new AgentException.InvalidSpec(
          "the key of certificate %s is too weak; use RSA with 2048 bits or more, EC or Ed25519"
              .formatted(name(one)));
    }
    String signature = one.getSigAlgName().toUpperCase(Locale.ROOT);
    if ((signature.startsWith("SHA1") || signature.startsWith("MD")) && !issued(one, one)) {
      throw new AgentException.InvalidSpec(
          "certificate %s is signed with %s, which is too weak; have it signed with SHA-256"
              .formatted(name(one), one.getSigAlgName()));
    }
  }

  static void covers(X509Certificate own, String host) {
    List<String> names = names(own);
    if (names.stream().noneMatch(name -> covers(name, host))) {
      throw new AgentException.InvalidSpec(
          "it is not for %s but for %s"
              .formatted(host, names.isEmpty() ? "no host" : String.join(", ", names)));
    }
  }

  /** A wildcard stands for exactly one label. */
  static boolean covers(String name, String host) {
    String lower = name.toLowerCase(Locale.ROOT);
    return lower.equals(host) || Optional.of(lower).equals(wildcard(host));
  }

  /** The wildcard that covers a host. */
  static Optional<String> wildcard(String host) {
    int dot = host.indexOf('.');
    return dot <= 0 || host.startsWith("*.")
        ? Optional.empty()
        : Optional.of("*" + host.substring(dot));
  }

  private static List<String> names(X509Certificate own) {
    var names = new ArrayList<String>();
    try {
      Collection<List<?>> all = own.getSubjectAlternativeNames();
      if (all != null) {
        for (List<?> one : all) {
          if (one.get(0) instanceof Integer kind
              && kind == DNS_NAME
              && one.get(1) instanceof String name) {
            names.add(name);
          }
        }
      }
    } catch (CertificateParsingException _) {
      return List.of();
    }
    return names;
  }

  /** A signature by one half that the other half accepts. */
  static void fits(X509Certificate own, PrivateKey key) {
    PublicKey other = own.getPublicKey();
    try {
      var signature = Signature.getInstance(algorithm(key));
      signature.initSign(key);
      signature.update(PROBE);
      byte[] signed = signature.sign();
      signature.initVerify(other);
      signature.update(PROBE);
      if (signature.verify(signed)) {
        return;
      }
    } catch (GeneralSecurityException _) {
      // of another kind
    }
    throw new AgentException.InvalidSpec(
        "its private key does not belong to certificate " + name(own));
  }

  private static String algorithm(PrivateKey key) {
    return switch (key.getAlgorithm()) {
      case "RSA" -> "SHA256withRSA";
      case "EC", "ECDSA" -> "SHA256withECDSA";
      default -> key.getAlgorithm(); // Ed25519 is its own
    };
  }

  private static String name(X509Certificate one) {
    String subject = one.getSubjectX500Principal().getName();
    return subject.isEmpty() ? String.join(", ", names(one)) : subject;
  }
}

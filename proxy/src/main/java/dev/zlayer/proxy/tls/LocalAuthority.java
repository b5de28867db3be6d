package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/**
 * An authority of this agent alone. It signs for the hosts that ask for {@code self_signed} and for
 * nobody else; those who want to believe it import its certificate.
 */
record LocalAuthority(X509Certificate certificate, PrivateKey key) {
  static final Duration LIFETIME = Duration.ofDays(3650);
  static final Duration LEAF_LIFETIME = Duration.ofDays(90);

  /** Clocks of clients differ. */
  private static final Duration EARLIER = Duration.ofDays(1);

  private static final SecureRandom RANDOM = new SecureRandom();

  static LocalAuthority create(Instant now) {
    KeyPair pair = PemText.generate();
    var id = new byte[4];
    RANDOM.nextBytes(id); // two agents have different names, so clients can tell them apart
    var name = new X500Name("CN=zlayer local CA " + HexFormat.of().formatHex(id) + ",O=zlayer");
    try {
      var builder =
          new JcaX509v3CertificateBuilder(
              name, serial(), begin(now), end(now, LIFETIME), name, pair.getPublic());
      var tools = new JcaX509ExtensionUtils();
      builder
          .addExtension(Extension.basicConstraints, true, new BasicConstraints(0))
          .addExtension(
              Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign))
          .addExtension(
              Extension.subjectKeyIdentifier,
              false,
              tools.createSubjectKeyIdentifier(pair.getPublic()));
      return new LocalAuthority(sign(builder, pair.getPrivate()), pair.getPrivate());
    } catch (IOException | GeneralSecurityException e) {
      throw new AgentException.Internal("the local authority cannot be made", e);
    }
  }

  /** Empty text is refused as any other that does not hold both. */
  static LocalAuthority parse(String text) {
    PemText pem = PemText.parse(text);
    if (pem.certificates().size() != 1 || pem.key().isEmpty()) {
      throw new AgentException.InvalidSpec("it has not one certificate and one key");
    }
    return new LocalAuthority(pem.certificates().getFirst(), pem.key().get());
  }

  String print() {
    return pem() + PemText.print(key);
  }

  String pem() {
    return PemText.print(List.of(certificate));
  }

  /** Whether what it signs now is valid as long as it says. */
  boolean usable(Instant now) {
    return !now.isBefore(certificate.getNotBefore().toInstant())
        && now.plus(LEAF_LIFETIME).isBefore(certificate.getNotAfter().toInstant());
  }

  /** A certificate with a key of its own for one host, which may be a wildcard. */
  PemPair issue(String host, Instant now) {
    KeyPair pair = PemText.generate();
    try {
      var issuer = new JcaX509CertificateHolder(certificate).getSubject();
      var builder =
          new JcaX509v3CertificateBuilder(
              issuer,
              serial(),
              begin(now),
              end(now, LEAF_LIFETIME),
              new X500Name(new org.bouncycastle.asn1.x500.RDN[0]), // the name is in the extension
              pair.getPublic());
      var tools = new JcaX509ExtensionUtils();
      builder
          .addExtension(Extension.basicConstraints, true, new BasicConstraints(false))
          .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature))
          .addExtension(
              Extension.extendedKeyUsage,
              false,
              new ExtendedKeyUsage(KeyPurposeId.id_kp_serverAuth))
          .addExtension(
              Extension.subjectAlternativeName,
              true,
              new GeneralNames(new GeneralName(GeneralName.dNSName, host)))
          .addExtension(
              Extension.authorityKeyIdentifier,
              false,
              tools.createAuthorityKeyIdentifier(certificate));
      X509Certificate leaf = sign(builder, key);
      return new PemPair(
          PemText.print(List.of(leaf)),
          PemText.print(pair.getPrivate()),
          leaf.getNotAfter().toInstant());
    } catch (IOException | GeneralSecurityException e) {
      throw new AgentException.Internal("no certificate can be made for " + host, e);
    }
  }

  private static X509Certificate sign(X509v3CertificateBuilder builder, PrivateKey key)
      throws IOException, GeneralSecurityException {
    try {
      var signer = new JcaContentSignerBuilder("SHA256withECDSA").build(key);
      return PemText.certificate(builder.build(signer).getEncoded());
    } catch (OperatorCreationException e) {
      throw new AgentException.Internal("every JDK has ECDSA", e);
    }
  }

  private static BigInteger serial() {
    return new BigInteger(127, RANDOM).setBit(126);
  }

  private static Date begin(Instant now) {
    return Date.from(now.minus(EARLIER).truncatedTo(ChronoUnit.SECONDS));
  }

  private static Date end(Instant now, Duration lifetime) {
    return Date.from(now.plus(lifetime).truncatedTo(ChronoUnit.SECONDS));
  }
}

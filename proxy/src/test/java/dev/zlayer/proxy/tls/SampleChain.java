package dev.zlayer.proxy.tls;

import java.math.BigInteger;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** A chain as people buy one: the host's certificate, an intermediate, a root. */
record SampleChain(
    X509Certificate own, X509Certificate intermediate, X509Certificate root, PrivateKey key) {
  static SampleChain of(String host, Instant from, Instant to) throws Exception {
    return of(host, from, to, PemText.generate());
  }

  static SampleChain of(String host, Instant from, Instant to, KeyPair own) throws Exception {
    return of(host, from, to, own, "SHA256withECDSA");
  }

  /** {@code algorithm} signs the host's own certificate. */
  static SampleChain of(String host, Instant from, Instant to, KeyPair own, String algorithm)
      throws Exception {
    KeyPair root = PemText.generate();
    KeyPair middle = PemText.generate();
    Instant early = from.minus(Duration.ofDays(100));
    Instant late = to.plus(Duration.ofDays(1000));
    return new SampleChain(
        sign("CN=" + host, own, "CN=Sample intermediate", middle, host, false, from, to, algorithm),
        sign(
            "CN=Sample intermediate",
            middle,
            "CN=Sample root",
            root,
            "",
            true,
            early,
            late,
            "SHA256withECDSA"),
        sign(
            "CN=Sample root",
            root,
            "CN=Sample root",
            root,
            "",
            true,
            early,
            late,
            "SHA256withECDSA"),
        own.getPrivate());
  }

  String pem() {
    return PemText.print(List.of(own, intermediate)) + PemText.print(key);
  }

  private static X509Certificate sign(
      String subject,
      KeyPair pair,
      String issuer,
      KeyPair by,
      String host,
      boolean authority,
      Instant from,
      Instant to,
      String algorithm)
      throws Exception {
    var builder =
        new JcaX509v3CertificateBuilder(
            new X500Name(issuer),
            BigInteger.valueOf(from.getEpochSecond()),
            Date.from(from),
            Date.from(to),
            new X500Name(subject),
            pair.getPublic());
    builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(authority));
    if (!host.isEmpty()) {
      builder.addExtension(
          Extension.subjectAlternativeName,
          false,
          new GeneralNames(new GeneralName(GeneralName.dNSName, host)));
    }
    return PemText.certificate(
        builder.build(new JcaContentSignerBuilder(algorithm).build(by.getPrivate())).getEncoded());
  }
}

package dev.zlayer.cluster.certificate;

import dev.zlayer.error.AgentException;
import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;

/**
 * Signs the certificates of a cluster. Those of nodes have names and addresses, but no common name:
 * etcd's gateway would take that for a user.
 */
public final class Authority {
  private static final String SIGNATURE = "SHA256withECDSA";
  private static final byte[] ECDSA_SHA256 = Der.sequence(Der.oid(1, 2, 840, 10045, 4, 3, 2));

  /** Clocks of nodes differ, by hours where somebody has set one to the time of another zone. */
  private static final Duration EARLIER = Duration.ofDays(1);

  private static final Duration LIFE = Duration.ofDays(3650);
  private static final Duration NODE_LIFE = Duration.ofDays(365);
  private static final int SERIAL_BITS = 127;

  private final X509Certificate certificate;
  private final PrivateKey key;

  public Authority(X509Certificate certificate, PrivateKey key) {
    this.certificate = certificate;
    this.key = key;
  }

  /** A new one, named after the cluster. */
  public static Authority create(String cluster, Instant now) {
    KeyPair pair = keys();
    byte[] name = name("zlayer cluster " + cluster);
    byte[] extensions =
        Der.sequence(
            extension(Der.oid(2, 5, 29, 19), Der.sequence(Der.yes())),
            // signing certificates and lists of revoked ones, and nothing else
            extension(Der.oid(2, 5, 29, 15), Der.bits(1, new byte[] {0x06})));
    X509Certificate made =
        sign(name, name, pair.getPublic(), extensions, now, LIFE, pair.getPrivate());
    return new Authority(made, pair.getPrivate());
  }

  /** A key pair for a node. */
  public static KeyPair keys() {
    try {
      var generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      return generator.generateKeyPair();
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("cannot make keys", e);
    }
  }

  public X509Certificate certificate() {
    return certificate;
  }

  public PrivateKey key() {
    return key;
  }

  /** A certificate with which a node serves and calls others. */
  public X509Certificate issue(
      PublicKey owner, List<String> names, List<InetAddress> addresses, Instant now) {
    var alternatives = new ArrayList<byte[]>();
    names.forEach(
        name -> alternatives.add(Der.tagged(0x82, name.getBytes(StandardCharsets.US_ASCII))));
    addresses.forEach(address -> alternatives.add(Der.tagged(0x87, address.getAddress())));
    byte[] extensions =
        Der.sequence(
            extension(Der.oid(2, 5, 29, 15), Der.bits(7, new byte[] {(byte) 0x80})),
            extension(
                Der.oid(2, 5, 29, 37),
                Der.sequence(
                    Der.oid(1, 3, 6, 1, 5, 5, 7, 3, 1), Der.oid(1, 3, 6, 1, 5, 5, 7, 3, 2))),
            extension(Der.oid(2, 5, 29, 17), Der.sequence(alternatives.toArray(new byte[0][]))));
    byte[] issuer = certificate.getSubjectX500Principal().getEncoded();
    return sign(issuer, Der.sequence(), owner, extensions, now, NODE_LIFE, key);
  }

  private static X509Certificate sign(
      byte[] issuer,
      byte[] subject,
      PublicKey owner,
      byte[] extensions,
      Instant now,
      Duration life,
      PrivateKey key) {
    byte[] content =
        Der.sequence(
            Der.tagged(0xa0, Der.integer(BigInteger.TWO)),
            Der.integer(new BigInteger(SERIAL_BITS, new SecureRandom()).setBit(0)),
            ECDSA_SHA256,
            issuer,
            Der.sequence(Der.time(now.minus(EARLIER)), Der.time(now.plus(life))),
            subject,
            owner.getEncoded(),
            Der.tagged(0xa3, extensions));
    try {
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(signed(content, key)));
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("cannot sign a certificate", e);
    }
  }

  private static byte[] signed(byte[] content, PrivateKey key) throws GeneralSecurityException {
    var signer = Signature.getInstance(SIGNATURE);
    signer.initSign(key);
    signer.update(content);
    return Der.sequence(content, ECDSA_SHA256, Der.bits(0, signer.sign()));
  }

  /** The list of certificates that are not to be trusted any more (RFC 5280, 5.1), as DER. */
  public byte[] revoked(Collection<BigInteger> serials, Instant now) {
    byte[][] entries =
        serials.stream()
            .sorted()
            .map(serial -> Der.sequence(Der.integer(serial), Der.time(now)))
            .toArray(byte[][]::new);
    byte[] number = Der.octets(Der.integer(BigInteger.valueOf(now.toEpochMilli())));
    byte[] issuer = certificate.getSubjectX500Principal().getEncoded();
    var parts = new ArrayList<byte[]>();
    parts.add(Der.integer(BigInteger.ONE));
    parts.add(ECDSA_SHA256);
    parts.add(issuer);
    parts.add(Der.time(now.minus(EARLIER)));
    // readers that look at the time must not refuse everybody while no agent writes another one
    parts.add(Der.time(now.plus(LIFE)));
    if (entries.length > 0) {
      parts.add(Der.sequence(entries)); // absent rather than empty, by the same paragraph
    }
    parts.add(Der.tagged(0xa0, Der.sequence(Der.sequence(Der.oid(2, 5, 29, 20), number))));
    try {
      return signed(Der.sequence(parts.toArray(byte[][]::new)), key);
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("cannot sign a list of revoked certificates", e);
    }
  }

  private static byte[] name(String common) {
    return Der.sequence(Der.set(Der.sequence(Der.oid(2, 5, 4, 3), Der.text(common))));
  }

  private static byte[] extension(byte[] oid, byte[] value) {
    return Der.sequence(oid, Der.yes(), Der.octets(value));
  }

  /** The names in a certificate. */
  public static Stream<String> names(X509Certificate certificate) {
    try {
      var found = certificate.getSubjectAlternativeNames();
      return found == null
          ? Stream.empty()
          : found.stream().filter(name -> name.get(0).equals(2)).map(name -> (String) name.get(1));
    } catch (GeneralSecurityException _) {
      return Stream.empty();
    }
  }
}

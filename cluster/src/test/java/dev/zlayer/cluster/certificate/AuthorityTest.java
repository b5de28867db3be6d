package dev.zlayer.cluster.certificate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.net.InetAddress;
import java.security.KeyPair;
import java.security.SignatureException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509CRL;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class AuthorityTest {
  private static final Instant NOW = Instant.parse("2026-11-18T12:00:00Z");

  @Test
  void aNodeGetsACertificateWithItsNamesAndNoCommonName() throws Exception {
    Authority authority = Authority.create("blue", NOW);
    KeyPair keys = Authority.keys();

    X509Certificate made =
        authority.issue(
            keys.getPublic(),
            List.of("a.node.zlayer.internal"),
            List.of(InetAddress.ofLiteral("10.0.0.1"), InetAddress.ofLiteral("fd00::1")),
            NOW);

    made.verify(authority.certificate().getPublicKey());
    assertThat(made.getSubjectX500Principal().getName()).isEmpty();
    assertThat(made.getIssuerX500Principal())
        .isEqualTo(authority.certificate().getSubjectX500Principal());
    assertThat(Authority.names(made)).containsExactly("a.node.zlayer.internal");
    assertThat(made.getSubjectAlternativeNames())
        .extracting(name -> String.valueOf(name.get(1)))
        .containsExactly("a.node.zlayer.internal", "10.0.0.1", "fd00:0:0:0:0:0:0:1");
    assertThat(made.getBasicConstraints()).as("not an authority").isEqualTo(-1);
    assertThat(made.getExtendedKeyUsage())
        .containsExactly("1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2");
    assertThat(made.getNotBefore().toInstant()).isEqualTo(NOW.minus(Duration.ofDays(1)));
    assertThat(made.getNotAfter().toInstant()).isEqualTo(NOW.plus(Duration.ofDays(365)));
  }

  @Test
  void anAuthorityIsOneAndCanBeWrittenAndRead() throws Exception {
    Authority authority = Authority.create("blue", NOW);

    assertThat(authority.certificate().getBasicConstraints()).isGreaterThanOrEqualTo(0);
    assertThat(authority.certificate().getKeyUsage())
        .containsExactly(false, false, false, false, false, true, true, false, false);
    authority.certificate().verify(authority.certificate().getPublicKey());
    X509Certificate read = Pem.certificate(Pem.of(authority.certificate()));
    assertThat(read).isEqualTo(authority.certificate());
    assertThat(Pem.privateKey(Pem.of(authority.key()))).isEqualTo(authority.key());
    assertThat(Pem.publicKey(Pem.of(read.getPublicKey()))).isEqualTo(read.getPublicKey());
    assertThat(Pem.fingerprint(read)).matches("[0-9a-f]{64}");
  }

  @Test
  void whatIsRevokedIsInASignedList() throws Exception {
    Authority authority = Authority.create("blue", NOW);
    X509Certificate one =
        authority.issue(Authority.keys().getPublic(), List.of("a"), List.of(), NOW);
    X509Certificate two =
        authority.issue(Authority.keys().getPublic(), List.of("b"), List.of(), NOW);

    X509CRL list = list(authority.revoked(List.of(one.getSerialNumber()), NOW));

    list.verify(authority.certificate().getPublicKey());
    assertThat(list.isRevoked(one)).isTrue();
    assertThat(list.isRevoked(two)).isFalse();
    assertThat(list.getNextUpdate().toInstant()).isAfter(NOW.plus(Duration.ofDays(3000)));
    assertThat(list(authority.revoked(List.of(), NOW)).isRevoked(one)).isFalse();
  }

  private static X509CRL list(byte[] encoded) throws Exception {
    return (X509CRL)
        CertificateFactory.getInstance("X.509").generateCRL(new ByteArrayInputStream(encoded));
  }

  @Test
  void anotherAuthorityDoesNotVerify() {
    Authority authority = Authority.create("blue", NOW);
    Authority other = Authority.create("blue", NOW);
    X509Certificate made =
        authority.issue(Authority.keys().getPublic(), List.of("a"), List.of(), NOW);

    assertThatThrownBy(() -> made.verify(other.certificate().getPublicKey()))
        .isInstanceOf(SignatureException.class);
  }

  /** After 2050 years are written with all their digits. */
  @Test
  void timesFarAwayAreKept() {
    Instant later = Instant.parse("2049-12-01T00:00:00Z");
    X509Certificate made = Authority.create("blue", later).certificate();

    assertThat(made.getNotBefore().toInstant()).isEqualTo(later.minus(Duration.ofDays(1)));
    assertThat(made.getNotAfter().toInstant()).isEqualTo(later.plus(Duration.ofDays(3650)));
  }
}

package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.security.KeyPair;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LocalAuthorityTest {
  private static final Instant NOW = Instant.parse("2026-06-01T00:00:00Z");

  @Test
  void whoBelievesTheAuthorityBelievesWhatItSigns() throws Exception {
    LocalAuthority authority = LocalAuthority.create(NOW);

    PemPair pem = authority.issue("hello.localhost", NOW);

    X509Certificate leaf = PemText.parse(pem.chain()).certificates().getFirst();
    validate(leaf, authority.certificate(), NOW);
    CertificateCheck.pem(pem.chain() + pem.key(), "hello.localhost", NOW);
    assertThat(pem.notAfter()).isEqualTo(NOW.plus(LocalAuthority.LEAF_LIFETIME));
    assertThat(leaf.getExtendedKeyUsage()).containsExactly("1.3.6.1.5.5.7.3.1");
  }

  @Test
  void theAuthoritySignsHostsAndNoFurtherAuthority() {
    LocalAuthority authority = LocalAuthority.create(NOW);

    assertThat(authority.certificate().getBasicConstraints()).isZero(); // path length
    PemPair pem = authority.issue("hello.localhost", NOW);
    assertThat(PemText.parse(pem.chain()).certificates().getFirst().getBasicConstraints())
        .isEqualTo(-1);
  }

  @Test
  void comesBackFromItsText() throws Exception {
    LocalAuthority authority = LocalAuthority.create(NOW);

    LocalAuthority read = LocalAuthority.parse(authority.print());

    assertThat(read.certificate()).isEqualTo(authority.certificate());
    PemPair pem = read.issue("*.shop.test", NOW);
    validate(PemText.parse(pem.chain()).certificates().getFirst(), authority.certificate(), NOW);
  }

  @Test
  void isNotUsedWhenWhatItSignsWouldOutliveIt() {
    LocalAuthority authority = LocalAuthority.create(NOW);
    Instant end = authority.certificate().getNotAfter().toInstant();

    assertThat(authority.usable(NOW)).isTrue();
    assertThat(authority.usable(end.minus(LocalAuthority.LEAF_LIFETIME))).isFalse();
    assertThat(authority.usable(NOW.minus(Duration.ofDays(2)))).isFalse();
  }

  @Test
  void aKeyHasBothHalvesAgainAfterItWasWritten() {
    KeyPair made = PemText.generate();

    KeyPair read = PemText.keyPair(PemText.print(made.getPrivate()));

    assertThat(read.getPublic()).isEqualTo(made.getPublic());
    assertThat(read.getPrivate()).isEqualTo(made.getPrivate());
  }

  private static void validate(X509Certificate leaf, X509Certificate root, Instant at)
      throws Exception {
    var parameters = new PKIXParameters(Set.of(new TrustAnchor(root, null)));
    parameters.setRevocationEnabled(false);
    parameters.setDate(Date.from(at));
    CertPathValidator.getInstance("PKIX")
        .validate(
            CertificateFactory.getInstance("X.509").generateCertPath(List.of(leaf)), parameters);
  }
}

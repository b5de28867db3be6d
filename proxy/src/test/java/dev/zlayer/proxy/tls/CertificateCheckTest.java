package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.io.StringWriter;
import java.security.KeyPairGenerator;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.bouncycastle.openssl.jcajce.JcaPEMWriter;
import org.junit.jupiter.api.Test;

class CertificateCheckTest {
  private static final Instant NOW = Instant.parse("2026-06-01T00:00:00Z");
  private static final Instant FROM = NOW.minus(Duration.ofDays(1));
  private static final Instant TO = NOW.plus(Duration.ofDays(60));

  @Test
  void takesAChainWithItsKeyInOneText() throws Exception {
    SampleChain chain = SampleChain.of("shop.example.org", FROM, TO);

    PemPair pem = CertificateCheck.pem(chain.pem(), "shop.example.org", NOW);

    assertThat(PemText.parse(pem.chain()).certificates())
        .containsExactly(chain.own(), chain.intermediate());
    assertThat(PemText.parse(pem.key()).key()).contains(chain.key());
    assertThat(pem.notAfter()).isEqualTo(TO);
    assertThat(pem.toString()).doesNotContain("KEY");
  }

  @Test
  void takesAKeyInFrontAndInItsOldNotation() throws Exception {
    var generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2048);
    SampleChain chain = SampleChain.of("shop.example.org", FROM, TO, generator.generateKeyPair());
    var key = new StringWriter();
    try (var writer = new JcaPEMWriter(key)) {
      writer.writeObject(chain.key());
    }
    assertThat(key.toString()).contains("BEGIN RSA PRIVATE KEY");

    PemPair pem =
        CertificateCheck.pem(key + PemText.print(List.of(chain.own())), "shop.example.org", NOW);

    assertThat(pem.key()).startsWith("-----BEGIN PRIVATE KEY-----");
  }

  @Test
  void wildcardsCoverOneLabel() throws Exception {
    SampleChain chain = SampleChain.of("*.example.org", FROM, TO);

    CertificateCheck.pem(chain.pem(), "shop.example.org", NOW);
    CertificateCheck.pem(chain.pem(), "*.example.org", NOW);

    refused(
        chain.pem(),
        "a.shop.example.org",
        "it is not for a.shop.example.org but for *.example.org");
    refused(chain.pem(), "example.org", "it is not for example.org");
  }

  @Test
  void refusesAKeyOfAnotherCertificate() throws Exception {
    SampleChain chain = SampleChain.of("shop.example.org", FROM, TO);
    String other = PemText.print(PemText.generate().getPrivate());

    refused(
        PemText.print(List.of(chain.own())) + other,
        "shop.example.org",
        "its private key does not belong to certificate CN=shop.example.org");
  }

  @Test
  void refusesWhatHaproxyDoesNotLoad() throws Exception {
    var generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(1024);
    refused(
        SampleChain.of("shop.example.org", FROM, TO, generator.generateKeyPair()).pem(),
        "shop.example.org",
        "the key of certificate CN=shop.example.org is too weak; use RSA with 2048 bits or more");
    refused(
        SampleChain.of("shop.example.org", FROM, TO, PemText.generate(), "SHA1withECDSA").pem(),
        "shop.example.org",
        "certificate CN=shop.example.org is signed with SHA1withECDSA, which is too weak");
  }

  @Test
  void refusesAWrongOrder() throws Exception {
    SampleChain chain = SampleChain.of("shop.example.org", FROM, TO);
    String key = PemText.print(chain.key());

    refused(
        PemText.print(List.of(chain.intermediate(), chain.own())) + key,
        "shop.example.org",
        "its first certificate is that of an authority (CN=Sample intermediate)");
    refused(
        PemText.print(List.of(chain.own(), chain.root())) + key,
        "shop.example.org",
        "certificate 1 (CN=shop.example.org) was not issued by certificate 2 (CN=Sample root)");
  }

  @Test
  void refusesWhatIsNotValidNow() throws Exception {
    refused(
        SampleChain.of("shop.example.org", FROM, NOW.minusSeconds(1)).pem(),
        "shop.example.org",
        "certificate CN=shop.example.org expired at 2026-05-31T23:59:59Z");
    refused(
        SampleChain.of("shop.example.org", NOW.plusSeconds(1), TO).pem(),
        "shop.example.org",
        "is not valid before 2026-06-01T00:00:01Z");
  }

  @Test
  void refusesWhatIsMissingOrUnreadableWithoutQuotingIt() throws Exception {
    SampleChain chain = SampleChain.of("shop.example.org", FROM, TO);
    String key = PemText.print(chain.key());
    String locked =
        """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF

        AAECAwQFBgcICQoLDA0ODw==
        -----END EC PRIVATE KEY-----
        """;

    refused("hunter2", "shop.example.org", "it has no private key");
    refused(PemText.print(List.of(chain.own())), "shop.example.org", "it has no private key");
    refused(key, "shop.example.org", "it has no certificate");
    refused(chain.pem() + key, "shop.example.org", "it has more than one private key");
    refused(
        locked + PemText.print(List.of(chain.own())),
        "shop.example.org",
        "its private key has a password");
    String broken = chain.pem().replaceFirst("MII", "!!!");
    refused(broken, "shop.example.org", "it is not PEM that can be read");
  }

  private static void refused(String text, String host, String reason) {
    assertThatThrownBy(() -> CertificateCheck.pem(text, host, NOW))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining(reason)
        .message()
        .doesNotContain("hunter2", "BEGIN");
  }
}

package dev.zlayer.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.FrozenFormat;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is stored of certificates stays as the frozen examples are. */
class StoredCertificateTest {
  private static final Instant AT = Instant.parse("2024-05-06T07:08:09Z");

  @Test
  void aHostIsStoredAsItWas() {
    var record =
        new HostRecord(
            "https://ca.example.org/dir",
            "",
            Optional.empty(),
            new OrderHistory(List.of(AT, AT.plusSeconds(60)), 2, Optional.of(AT.plusSeconds(600))),
            Optional.of(
                new HostRecord.PendingOrder(
                    "a key", Optional.of("https://ca.example.org/order/1"), true)),
            Optional.of("the authority refused"));
    String name = "certificate-v%d.json".formatted(HostRecord.FORMAT.version());

    FrozenFormat.check(name, record.json());
    assertThat(HostRecord.parse(text(name), name)).isEqualTo(record);
  }

  @Test
  void aCertificateComesBack() {
    LocalAuthority authority = LocalAuthority.create(AT);
    HostRecord record =
        HostRecord.none("here").obtained(authority.issue("a.test", AT), OrderHistory.NONE);

    assertThat(HostRecord.parse(record.print(), "here")).isEqualTo(record);
  }

  @Test
  void anAccountIsStoredAsItWas() {
    var account =
        new CertificateRecords.Account(
            "https://ca.example.org/dir",
            "a key",
            Optional.of("https://ca.example.org/account/1"),
            3,
            Optional.of(AT));
    String name = "acme-account-v%d.json".formatted(CertificateRecords.ACCOUNT_FORMAT.version());

    FrozenFormat.check(name, account.json());
    assertThat(CertificateRecords.Account.parse(text(name))).isEqualTo(account);
  }

  private static String text(String name) {
    byte[] bytes = FrozenFormat.read(name);
    assertThat(JsonText.parse(bytes).members()).isNotEmpty();
    return new String(bytes, StandardCharsets.UTF_8);
  }
}

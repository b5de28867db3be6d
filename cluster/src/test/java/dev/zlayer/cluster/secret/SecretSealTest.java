package dev.zlayer.cluster.secret;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class SecretSealTest {
  private static final SecretId ID = SecretId.of("shop", "db");
  private static final byte[] VALUE = "hunter2 hunter2".getBytes(StandardCharsets.UTF_8);

  private final PrivateKey key = Authority.keys().getPrivate();
  private final SecretSeal seal = SecretSeal.of("c1", key);

  @Test
  void whatIsSealedOpensOnEachNodeThatHasTheKeyOfTheAuthority() {
    byte[] sealed = seal.close(ID, 1, VALUE);
    assertThat(seal.open(ID, 1, sealed)).contains(VALUE);
    SecretSeal other = SecretSeal.of("c1", Pem.privateKey(Pem.of(key)));
    assertThat(other.open(ID, 1, sealed)).as("on another node").contains(VALUE);
    assertThat(other.fingerprint(ID, VALUE)).isEqualTo(seal.fingerprint(ID, VALUE));
  }

  @Test
  void theSameValueIsSealedAnotherWayEachTime() {
    byte[] sealed = seal.close(ID, 1, VALUE);
    assertThat(seal.close(ID, 1, VALUE)).isNotEqualTo(sealed);
    assertThat(new String(sealed, StandardCharsets.ISO_8859_1)).doesNotContain("hunter2");
  }

  @Test
  void nobodyElseOpensIt() {
    byte[] sealed = seal.close(ID, 1, VALUE);
    assertThat(SecretSeal.of("c1", Authority.keys().getPrivate()).open(ID, 1, sealed))
        .as("the key of another authority")
        .isEmpty();
    assertThat(SecretSeal.of("c2", key).open(ID, 1, sealed)).as("another cluster").isEmpty();
  }

  @Test
  void itDoesNotOpenElsewhere() {
    byte[] sealed = seal.close(ID, 2, VALUE);
    assertThat(seal.open(SecretId.of("shop", "other"), 2, sealed)).as("another name").isEmpty();
    assertThat(seal.open(SecretId.of("blog", "db"), 2, sealed)).as("a deployment").isEmpty();
    assertThat(seal.open(SecretId.of("shop", "web", "db"), 2, sealed)).as("a service").isEmpty();
    assertThat(seal.open(SecretId.global("db"), 2, sealed)).as("of all deployments").isEmpty();
    assertThat(seal.open(ID, 1, sealed)).as("an earlier revision").isEmpty();
    assertThat(seal.open(ID, 3, sealed)).as("a later revision").isEmpty();
  }

  @Test
  void whatWasChangedDoesNotOpen() {
    byte[] sealed = seal.close(ID, 1, VALUE);
    for (int i = 0; i < sealed.length; i++) {
      byte[] changed = sealed.clone();
      changed[i] ^= 1;
      assertThat(seal.open(ID, 1, changed)).as("byte %d", i).isEmpty();
    }
    for (int length = 0; length < sealed.length; length++) {
      assertThat(seal.open(ID, 1, Arrays.copyOf(sealed, length))).as("cut off").isEmpty();
    }
  }

  @Test
  void aFingerprintChangesWithValueNameAndKey() {
    String fingerprint = seal.fingerprint(ID, VALUE);
    assertThat(seal.fingerprint(ID, VALUE)).isEqualTo(fingerprint).hasSize(16);
    assertThat(seal.fingerprint(ID, "other".getBytes(StandardCharsets.UTF_8)))
        .isNotEqualTo(fingerprint);
    assertThat(seal.fingerprint(SecretId.global("db"), VALUE)).isNotEqualTo(fingerprint);
    assertThat(SecretSeal.of("c2", key).fingerprint(ID, VALUE)).isNotEqualTo(fingerprint);
  }
}

package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.certificate.Authority;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LinkKeysTest {
  @TempDir Path directory;
  private final Authority authority = Authority.create("test", Instant.now());

  @Test
  void aKeyIsBelievedOnlyWhenItsNodeSignedIt() throws Exception {
    LinkKeys one = node(authority, "a1", false);
    LinkKeys two = node(authority, "b2", false);
    String published = one.published();

    assertThat(two.verified("a1", published)).contains(one.publicKey());
    assertThat(two.verified("b2", published)).as("not of that node").isEmpty();
    assertThat(two.verified("a1", published.replace(one.publicKey(), two.publicKey())))
        .as("not what was signed")
        .isEmpty();
    assertThat(two.verified("a1", "{}")).isEmpty();
    assertThat(two.verified("a1", published)).contains(one.publicKey());
    LinkKeys other = node(Authority.create("test", Instant.now()), "a1", false);
    assertThat(two.verified("a1", other.published())).as("of another authority").isEmpty();
    assertThat(node(authority, "c3", true).verified("a1", published)).as("revoked").isEmpty();
  }

  @Test
  void eachCertificateHasAKeyThatStays() throws Exception {
    LinkKeys before = node(authority, "a1", false);
    String key = before.publicKey();
    Path file = before.file();
    assertThat(Files.getPosixFilePermissions(file)).hasSize(2);
    var files = new ClusterFiles(directory.resolve("a1"));
    assertThat(new LinkKeys(identity("a1"), files, _ -> false).publicKey()).isEqualTo(key);

    KeyPair next = Authority.keys();
    files.replace(next.getPrivate(), issue(authority, next, "a1"));
    assertThat(before.publicKey()).isNotEqualTo(key);
    assertThat(file).doesNotExist();
  }

  /** Of RFC 7748, 6.1. */
  @Test
  void thePublicKeyFollowsFromThePrivateOne() {
    assertThat(LinkKeys.publicKey("dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo="))
        .isEqualTo("hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=");
  }

  private LinkKeys node(Authority signer, String id, boolean revoked) throws Exception {
    Path own = directory.resolve(signer == authority ? id + (revoked ? "r" : "") : "x" + id);
    var files = new ClusterFiles(own);
    KeyPair keys = Authority.keys();
    files.write(keys.getPrivate(), issue(signer, keys, id), signer.certificate());
    return new LinkKeys(identity(id), files, _ -> revoked);
  }

  private static java.security.cert.X509Certificate issue(
      Authority signer, KeyPair keys, String id) {
    return signer.issue(
        keys.getPublic(),
        NodeIdentity.names(id, true),
        List.of(InetAddress.getLoopbackAddress()),
        Instant.now());
  }

  private static NodeIdentity identity(String id) {
    return new NodeIdentity(
        NodeIdentity.VERSION,
        "cluster",
        id,
        "node-" + id,
        "127.0.0.1",
        true,
        List.of(),
        Map.of(),
        false);
  }
}

package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.task.Deadline;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeCertificateTest {
  private static final Instant NOW = Instant.parse("2026-11-18T00:00:00Z");
  private static final String ID = "a1";

  @TempDir Path directory;
  private final MemoryClusterStore store = new MemoryClusterStore();
  private final Authority authority = Authority.create("test", NOW.minus(Duration.ofDays(800)));
  private final NodeIdentity identity =
      new NodeIdentity(
          NodeIdentity.VERSION, "c", ID, "one", "192.0.2.1", true, List.of(), Map.of(), false);
  private ClusterFiles files;

  @BeforeEach
  void begin() {
    files = new ClusterFiles(directory);
    var record = new NodeRecord(ID, "one", "192.0.2.1", true, NOW, Map.of());
    put(new Change.Put(StoreKeys.member(ID), record.text()));
  }

  private void put(Change change) {
    var _ = store.transact(List.of(), List.of(change), limit());
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }

  /** A node that was given its certificate so long ago. */
  private X509Certificate given(Duration ago) {
    KeyPair keys = Authority.keys();
    X509Certificate made = issue(keys, ago);
    files.write(keys.getPrivate(), made, authority.certificate());
    files.write(authority.key());
    put(Admission.issued(ID, made));
    return made;
  }

  private X509Certificate issue(KeyPair keys, Duration ago) {
    return authority.issue(
        keys.getPublic(),
        NodeIdentity.names(ID, true),
        List.of(identity.inetAddress()),
        NOW.minus(ago));
  }

  private NodeCertificate certificates(ClusterStore used) {
    return new NodeCertificate(
        identity,
        files,
        used,
        NodeUsers.NONE,
        InstantSource.fixed(NOW),
        List::of,
        _ -> {},
        _ -> {});
  }

  @Test
  void itIsDueAfterTwoThirdsOfItsTimeButNotForAllNodesAtOnce() {
    var times = new ArrayList<Instant>();
    for (int i = 0; i < 20; i++) {
      X509Certificate made = issue(Authority.keys(), Duration.ZERO);
      times.add(NodeCertificate.renewal(made));
    }

    assertThat(times)
        .allSatisfy(time -> assertThat(Duration.between(NOW, time).toDays()).isBetween(243L, 262L));
    assertThat(times.stream().distinct().count()).isGreaterThan(10);
  }

  @Test
  void itIsReplacedWhenItIsDueAndNotBefore() throws Exception {
    X509Certificate young = given(Duration.ofDays(200));
    assertThat(certificates(store).round()).isPositive();
    assertThat(files.ownCertificate()).isEqualTo(young);

    X509Certificate old = given(Duration.ofDays(300));
    assertThat(certificates(store).round()).isPositive();

    X509Certificate now = files.ownCertificate();
    assertThat(now).isNotEqualTo(old);
    assertThat(now.getNotAfter().toInstant()).isEqualTo(NOW.plus(Duration.ofDays(365)));
    assertThat(Authority.names(now).toList()).isEqualTo(Authority.names(old).toList());
    assertFits();
    assertThat(serials(StoreKeys.certificates(ID))).containsExactly(serial(now));
    assertThat(serials(StoreKeys.REVOKED)).contains(serial(old), serial(young));
  }

  /** It had as many signed as it could, and goes on with that while it is removed. */
  @Test
  void allCertificatesOfANodeThatIsRemovedAreRevoked() throws Exception {
    for (int i = 0; i < 300; i++) {
      put(new Change.Put(StoreKeys.certificates(ID) + "a%d".formatted(i), NOW.toString()));
    }
    ClusterStore watched =
        (ClusterStore)
            Proxy.newProxyInstance(
                ClusterStore.class.getClassLoader(),
                new Class<?>[] {ClusterStore.class},
                (_, method, arguments) -> {
                  if (method.getName().equals("transact")) {
                    var changes = (List<?>) arguments[1];
                    assertThat(changes).hasSizeLessThanOrEqualTo(ClusterStore.MOST_CHANGES);
                    if (changes.contains(new Change.Delete(StoreKeys.member(ID)))) {
                      put(new Change.Put(StoreKeys.certificates(ID) + "b0", NOW.toString()));
                    }
                  }
                  return method.invoke(store, arguments);
                });

    Admission.remove(watched, NodeUsers.NONE, ID, "b2", limit());

    assertThat(store.find(StoreKeys.member(ID), limit())).isEmpty();
    assertThat(serials(StoreKeys.certificates(ID))).isEmpty();
    assertThat(serials(StoreKeys.REVOKED)).hasSize(301).contains("b0");
  }

  /** Killed before or after each of the requests to the store, and so around the file, too. */
  @Test
  void aKillBetweenAnyTwoStepsLeavesANodeThatWorks() throws Exception {
    int kills = 0;
    for (int step = 1; ; step++) {
      int last = step;
      X509Certificate old = given(Duration.ofDays(300));
      var calls = new AtomicInteger();
      boolean before = killed(calls, call -> call == last, _ -> false);
      assertSettles(old);
      given(Duration.ofDays(300));
      calls.set(0);
      boolean after = killed(calls, _ -> false, call -> call == last);
      assertSettles(old);
      if (!before && !after) {
        break;
      }
      kills++;
    }
    // sign: find, transact; settle: find, list, transact
    assertThat(kills).isEqualTo(5);
  }

  private boolean killed(AtomicInteger calls, IntPredicate before, IntPredicate after)
      throws Exception {
    var dying =
        (ClusterStore)
            Proxy.newProxyInstance(
                ClusterStore.class.getClassLoader(),
                new Class<?>[] {ClusterStore.class},
                (_, method, arguments) -> {
                  int call = calls.incrementAndGet();
                  if (before.test(call)) {
                    throw new Killed();
                  }
                  Object answer;
                  try {
                    answer = method.invoke(store, arguments);
                  } catch (InvocationTargetException e) {
                    throw e.getCause();
                  }
                  if (after.test(call)) {
                    throw new Killed();
                  }
                  return answer;
                });
    try {
      var _ = certificates(dying).round();
      return false;
    } catch (Killed _) {
      return true;
    }
  }

  /** Not one of ours, which would be handled. */
  private static final class Killed extends Error {
    private static final long serialVersionUID = 1;
  }

  /** The pair is valid after a kill, and the next agent leaves nothing else valid. */
  private void assertSettles(X509Certificate old) throws Exception {
    assertFits();
    assertThat(serials(StoreKeys.REVOKED)).doesNotContain(serial(files.ownCertificate()));

    assertThat(certificates(store).round()).isPositive();

    assertFits();
    assertThat(files.ownCertificate()).isNotEqualTo(old);
    assertThat(serials(StoreKeys.certificates(ID))).containsExactly(serial(files.ownCertificate()));
    assertThat(serials(StoreKeys.REVOKED))
        .contains(serial(old))
        .doesNotContain(serial(files.ownCertificate()));
  }

  @Test
  void theTwoFilesOfEarlierAgentsBecomeOneAndAKillMeanwhileDoesNoHarm() throws Exception {
    for (int steps = 0; steps <= 3; steps++) {
      KeyPair keys = Authority.keys();
      X509Certificate made = issue(keys, Duration.ofDays(300));
      String certificate = Pem.of(made) + Pem.of(authority.certificate());
      for (String name : List.of("node.pem", "node.crt", "node.key")) {
        Files.deleteIfExists(directory.resolve(name));
      }
      Files.writeString(directory.resolve("ca.crt"), Pem.of(authority.certificate()));
      Files.writeString(directory.resolve("node.crt"), certificate);
      Files.writeString(directory.resolve("node.key"), Pem.of(keys.getPrivate()));
      files.write(authority.key());
      // what a kill left
      Path both = directory.resolve("node.pem");
      if (steps > 0) {
        Files.writeString(both, certificate + Pem.of(keys.getPrivate()));
      }
      if (steps > 1) {
        AtomicFile.link(directory.resolve("node.crt"), both);
      }
      if (steps > 2) {
        AtomicFile.link(directory.resolve("node.key"), both);
      }
      assertFits();

      files.combine();

      assertFits();
      assertThat(files.ownCertificate()).isEqualTo(made);
      assertThat(files.tls()).isNotNull();
      assertThat(certificates(store).round()).isPositive();
      assertFits();
      assertThat(files.ownCertificate()).isNotEqualTo(made);
    }
  }

  @Test
  void oneThatExpiredIsReplacedWithoutTheClusterWhichItCannotReach() throws Exception {
    ClusterStore silent = silent();
    X509Certificate due = given(Duration.ofDays(300));
    var told = new ArrayList<NodeCertificate.Validity>();
    var waiting =
        new NodeCertificate(
            identity,
            files,
            silent,
            NodeUsers.NONE,
            InstantSource.fixed(NOW),
            List::of,
            _ -> {},
            told::add);
    assertThat(waiting.round()).isPositive();
    assertThat(files.ownCertificate()).isEqualTo(due);
    assertThat(told.getLast().problem().orElseThrow()).contains("not renewed", "nobody answers");

    X509Certificate expired = given(Duration.ofDays(400));
    assertThat(certificates(silent).round()).isPositive();

    assertThat(files.ownCertificate()).isNotEqualTo(expired);
    assertFits();
    assertThat(certificates(store).round()).isPositive();
    assertThat(serials(StoreKeys.certificates(ID))).containsExactly(serial(files.ownCertificate()));
  }

  private static ClusterStore silent() {
    return (ClusterStore)
        Proxy.newProxyInstance(
            ClusterStore.class.getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, _, _) -> {
              throw new AgentException.Network("nobody answers");
            });
  }

  @Test
  void whatABackupBringsBackIsRevokedAgain() throws Exception {
    X509Certificate old = given(Duration.ofDays(300));
    assertThat(certificates(store).round()).isPositive();
    put(new Change.DeleteAll(StoreKeys.REVOKED));
    put(new Change.DeleteAll(StoreKeys.certificates(ID)));
    put(Admission.issued(ID, old));

    assertThat(certificates(store).round()).isPositive();

    assertThat(serials(StoreKeys.certificates(ID))).containsExactly(serial(files.ownCertificate()));
    assertThat(serials(StoreKeys.REVOKED)).containsExactly(serial(old));
  }

  @Test
  void aNodeThatWasRemovedGetsNone() {
    X509Certificate old = given(Duration.ofDays(10));
    put(new Change.Delete(StoreKeys.member(ID)));

    assertThatThrownBy(() -> certificates(store).replace())
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("was removed from the cluster");
    assertThat(files.ownCertificate()).isEqualTo(old);
  }

  private List<String> serials(String prefix) {
    return store.list(prefix, limit()).entries().stream()
        .map(entry -> entry.key().substring(prefix.length()))
        .toList();
  }

  private static String serial(X509Certificate certificate) {
    return certificate.getSerialNumber().toString(16);
  }

  /** As programs read it that want two files. */
  private void assertFits() throws Exception {
    X509Certificate certificate = Pem.certificate(Files.readString(directory.resolve("node.crt")));
    PrivateKey key = Pem.privateKey(Files.readString(directory.resolve("node.key")));
    var signer = Signature.getInstance("SHA256withECDSA");
    signer.initSign(key);
    signer.update((byte) 1);
    byte[] signature = signer.sign();
    signer.initVerify(certificate.getPublicKey());
    signer.update((byte) 1);
    assertThat(signer.verify(signature)).isTrue();
  }
}

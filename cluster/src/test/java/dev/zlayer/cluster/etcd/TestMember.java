package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.etcd.EtcdMembers.Member;
import dev.zlayer.host.http.TlsFiles;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.FreePorts;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** A real member of etcd on loopback, with certificates of its own authority. */
final class TestMember implements AutoCloseable {
  static final String PEERS = "server.zlayer.internal";
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private EtcdServer server;
  private final EtcdServer.Settings settings;
  final SSLContext tls;
  final URI client;
  final URI peer;
  final String name;

  private TestMember(EtcdServer.Settings settings, SSLContext tls) {
    this.settings = settings;
    this.server = new EtcdServer(settings, Pauses.REAL);
    this.tls = tls;
    this.client = settings.client();
    this.peer = settings.peer();
    this.name = settings.name();
  }

  EtcdServer server() {
    return server;
  }

  static TestMember first(Path directory, Authority authority) throws Exception {
    URI peer = address();
    return start(directory, authority, "one", peer, Map.of("one", peer), false);
  }

  static TestMember start(
      Path directory,
      Authority authority,
      String name,
      URI peer,
      Map<String, URI> members,
      boolean joins)
      throws Exception {
    Files.createDirectories(directory);
    KeyPair keys = Authority.keys();
    Path certificate = directory.resolve("node.crt");
    Path key = directory.resolve("node.key");
    Path trusted = directory.resolve("ca.crt");
    Files.writeString(
        certificate,
        Pem.of(
            authority.issue(
                keys.getPublic(),
                List.of(PEERS),
                List.of(InetAddress.ofLiteral("127.0.0.1")),
                Instant.now())));
    Files.writeString(key, Pem.of(keys.getPrivate()));
    Files.writeString(trusted, Pem.of(authority.certificate()));
    Path revoked = directory.resolve("revoked.crl");
    Files.write(revoked, authority.revoked(List.of(), Instant.now()));
    URI client = address();
    var settings =
        new EtcdServer.Settings(
            Path.of(System.getProperty("zlayer.etcd.next", "/usr/bin/etcd")),
            directory.resolve("etcd"),
            name,
            client,
            peer,
            new EtcdServer.Tls(certificate, key, trusted, revoked, PEERS),
            "test",
            members,
            joins);
    var tls =
        new TlsFiles(Optional.of(trusted), Optional.of(new TlsFiles.Own(certificate, key)))
            .context();
    var member = new TestMember(settings, tls);
    member.server.start();
    return member;
  }

  /** Adds one to members that run; returns when it counts. */
  static TestMember join(Path directory, Authority authority, String name, List<TestMember> others)
      throws Exception {
    try (var at = others.getFirst().client()) {
      var members = new EtcdMembers(at);
      URI peer = address();
      List<Member> known = members.addLearner(peer, Deadline.after(LIMIT));
      Map<String, URI> addresses = new LinkedHashMap<>();
      for (Member one : known) {
        addresses.put(one.name().isEmpty() ? name : one.name(), one.peers().getFirst());
      }
      TestMember made = start(directory.resolve(name), authority, name, peer, addresses, true);
      Member learner = known.stream().filter(Member::learner).findFirst().orElseThrow();
      Deadline limit = Deadline.after(LIMIT);
      while (!members.promote(learner.id(), Deadline.after(LIMIT))) {
        limit.check("waiting for the learner");
        Pauses.REAL.pause(Duration.ofMillis(50));
      }
      return made;
    }
  }

  EtcdClient client() {
    return EtcdClient.open(new EtcdConfig(List.of(client), Optional.of(tls), Optional.empty()));
  }

  EtcdClient client(EtcdConfig.Login user) {
    return EtcdClient.open(new EtcdConfig(List.of(client), Optional.of(tls), Optional.of(user)));
  }

  /** As after a crash of its machine. */
  void restart() throws InterruptedException {
    close();
    server.start();
  }

  /** Continues as another version, as after an upgrade of the package. */
  void upgrade(Path program) throws InterruptedException {
    close();
    server =
        new EtcdServer(
            new EtcdServer.Settings(
                program,
                settings.directory(),
                name,
                client,
                peer,
                settings.tls(),
                settings.cluster(),
                settings.members(),
                settings.joins()),
            Pauses.REAL);
    server.start();
  }

  static URI address() {
    return URI.create("https://127.0.0.1:" + FreePorts.take());
  }

  @Override
  public void close() throws InterruptedException {
    server.stop(Deadline.after(LIMIT));
  }
}

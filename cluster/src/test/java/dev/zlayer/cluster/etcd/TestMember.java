package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** A real member of etcd on loopback, with certificates of its own authority. */
final class TestMember implements AutoCloseable {
  static final String PEERS = "server.zlayer.internal";

  final EtcdServer server;
  final SSLContext tls;
  final URI client;
  final URI peer;
  final String name;

  private TestMember(EtcdServer server, SSLContext tls, URI client, URI peer, String name) {
    this.server = server;
    this.tls = tls;
    this.client = client;
    this.peer = peer;
    this.name = name;
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
    var server =
        new EtcdServer(
            new EtcdServer.Settings(
                Path.of(System.getProperty("zlayer.etcd.next", "/usr/bin/etcd")),
                directory.resolve("etcd"),
                name,
                client,
                peer,
                new EtcdServer.Tls(certificate, key, trusted, revoked, PEERS),
                "test",
                members,
                joins),
            Pauses.REAL);
    server.start();
    var tls =
        new TlsFiles(Optional.of(trusted), Optional.of(new TlsFiles.Own(certificate, key)))
            .context();
    return new TestMember(server, tls, client, peer, name);
  }

  EtcdClient client() {
    return EtcdClient.open(new EtcdConfig(List.of(client), Optional.of(tls), Optional.empty()));
  }

  static URI address() {
    return URI.create("https://127.0.0.1:" + FreePorts.take());
  }

  @Override
  public void close() throws InterruptedException {
    server.stop(Deadline.after(Duration.ofSeconds(20)));
  }
}

package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * An etcd that an operator runs on a machine of a {@link ClusterFixture}: with an authority of its
 * own, and users. The user of the cluster may use the keys of one prefix.
 */
public final class ExternalEtcdFixture implements AutoCloseable {
  private static final String NAME = "server.zlayer.internal";
  private static final String ROOT = "root:secret";

  private final ClusterFixture.Machine machine;
  private final Path directory;
  private final EtcdServer server;
  private final URI client;

  public ExternalEtcdFixture(Path directory, ClusterFixture.Machine machine, String prefix)
      throws Exception {
    this.machine = machine;
    this.directory = Files.createDirectories(directory);
    this.client = URI.create("https://" + machine.address() + ":2379");
    URI peer = URI.create("https://" + machine.address() + ":2380");
    Path program = directory.resolve("etcd.sh");
    Files.writeString(
        program,
        "#!/bin/sh\nexec nsenter --net=/run/netns/%s %s \"$@\"\n"
            .formatted(machine.namespace(), EtcdServer.program()));
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
    var authority = Authority.create("others", Instant.now());
    KeyPair keys = Authority.keys();
    Files.writeString(
        certificate(),
        Pem.of(
            authority.issue(
                keys.getPublic(),
                List.of(NAME),
                List.of(InetAddress.ofLiteral(machine.address())),
                Instant.now())));
    Files.writeString(key(), Pem.of(keys.getPrivate()));
    Files.writeString(authority(), Pem.of(authority.certificate()));
    Path revoked = directory.resolve("revoked.crl");
    Files.write(revoked, authority.revoked(List.of(), Instant.now()));
    this.server =
        new EtcdServer(
            new EtcdServer.Settings(
                program,
                directory.resolve("etcd"),
                "others",
                client,
                peer,
                new EtcdServer.Tls(certificate(), key(), authority(), revoked, NAME),
                "others",
                Map.of("others", peer),
                false),
            Pauses.REAL);
    server.start();
    try {
      users(prefix);
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private void users(String prefix) {
    ctl("user", "add", ROOT);
    ctl("user", "grant-role", "root", "root");
    ctl("role", "add", "zlayer");
    ctl("role", "grant-permission", "zlayer", "readwrite", prefix + "/zlayer", "--prefix=true");
    ctl("user", "add", "zlayer:" + password());
    ctl("user", "grant-role", "zlayer", "zlayer");
    ctl("auth", "enable");
  }

  public String client() {
    return client.toString();
  }

  public Path certificate() {
    return directory.resolve("client.crt");
  }

  public Path key() {
    return directory.resolve("client.key");
  }

  public Path authority() {
    return directory.resolve("ca.crt");
  }

  public static String password() {
    return "not-a-secret";
  }

  /** Runs etcdctl as the operator, who may do everything; it waits until etcd answers. */
  public String ctl(String... arguments) {
    var words =
        new ArrayList<>(
            List.of(
                "env",
                "ETCDCTL_API=3",
                "etcdctl",
                "--dial-timeout=20s",
                "--command-timeout=20s",
                "--endpoints=" + client,
                "--cacert=" + authority(),
                "--cert=" + certificate(),
                "--key=" + key(),
                "--user=" + ROOT));
    if (!arguments[0].equals("get") && !arguments[0].equals("put") && !granted(arguments)) {
      words.removeLast(); // users do not exist yet
    }
    words.addAll(List.of(arguments));
    CommandResult result = machine.program(words.toArray(String[]::new));
    assertThat(result.code()).as(words + ": " + result.stderr()).isZero();
    return result.stdout();
  }

  private boolean granted(String... arguments) {
    return String.join(" ", arguments).equals("user grant-role zlayer root");
  }

  @Override
  public void close() {
    try {
      server.stop(Deadline.after(Duration.ofSeconds(20)));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}

package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "init",
    description = "Make this node the first one of a cluster and print how others join",
    footer = {
      "",
      "Its deployments stay as they are. etcd keeps the state of the cluster and is started as a",
      "process of its own (package etcd-server)."
    })
public final class ClusterInitCommand extends AnswerCommand {
  private static final int LONGEST = 64_000;

  @Option(
      names = "--advertise",
      paramLabel = "ADDRESS",
      description = "Address of this machine for other nodes (default: that of the default route)")
  private @Nullable String advertise;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of this node (default: the host name)")
  private @Nullable String name;

  @Option(
      names = "--encrypt",
      description = "Encrypt packets between containers of different nodes, with WireGuard")
  private boolean encrypt;

  @Option(
      names = "--etcd",
      paramLabel = "URL[,URL]",
      split = ",",
      description = "Use this etcd, which others run, instead of starting one on nodes")
  private List<String> etcd = List.of();

  @Option(
      names = "--etcd-prefix",
      paramLabel = "PREFIX",
      description = "Prefix of all keys, so that clusters can share one etcd, e.g. /team-a")
  private @Nullable String etcdPrefix;

  @Option(
      names = "--etcd-ca",
      paramLabel = "FILE",
      description = "Certificate of the authority of etcd (default: those the system trusts)")
  private @Nullable Path etcdAuthority;

  @Option(
      names = "--etcd-cert",
      paramLabel = "FILE",
      description = "Certificate that nodes show to etcd")
  private @Nullable Path etcdCertificate;

  @Option(names = "--etcd-key", paramLabel = "FILE", description = "Key of that certificate")
  private @Nullable Path etcdKey;

  @Option(names = "--etcd-user", paramLabel = "NAME", description = "User of etcd")
  private @Nullable String etcdUser;

  @Option(
      names = "--etcd-password-file",
      paramLabel = "FILE",
      description = "File with the password of that user; - reads standard input")
  private @Nullable Path etcdPassword;

  public ClusterInitCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.post(
            "/cluster/init",
            Query.NONE,
            Json.object()
                .putIf("name", Optional.ofNullable(name))
                .putIf("advertise", Optional.ofNullable(advertise))
                .putIf("etcd", external())
                .put("encrypt", encrypt)
                .build());
    show(answer, () -> ClusterTokenCommand.text(answer));
    return 0;
  }

  private Optional<Json> external() {
    if (etcd.isEmpty()) {
      boolean others =
          Stream.of(etcdPrefix, etcdAuthority, etcdCertificate, etcdKey, etcdUser, etcdPassword)
              .anyMatch(Objects::nonNull);
      if (others) {
        throw new AgentException.InvalidSpec(
            "--etcd-... options are for an etcd that others run; say with --etcd where it is");
      }
      return Optional.empty();
    }
    return Optional.of(
        Json.object()
            .put("endpoints", etcd)
            .putIf("prefix", Optional.ofNullable(etcdPrefix))
            .putIf("authority", Optional.ofNullable(etcdAuthority).map(this::text))
            .putIf("certificate", Optional.ofNullable(etcdCertificate).map(this::text))
            .putIf("key", Optional.ofNullable(etcdKey).map(this::text))
            .putIf("user", Optional.ofNullable(etcdUser))
            .putIf(
                "password",
                Optional.ofNullable(etcdPassword).map(file -> text(file).stripTrailing()))
            .build());
  }

  private String text(Path file) {
    try {
      byte[] bytes =
          file.toString().equals("-")
              ? session.in().readNBytes(LONGEST)
              : Files.readAllBytes(session.resolve(file.toString()));
      return new String(bytes, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new AgentException.InvalidSpec("cannot read %s: %s".formatted(file, e.getMessage()), e);
    }
  }
}

package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import java.util.Optional;
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
                .build());
    show(answer, () -> ClusterTokenCommand.text(answer));
    return 0;
  }
}

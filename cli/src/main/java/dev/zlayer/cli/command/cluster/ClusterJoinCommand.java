package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "join",
    description = "Join the cluster of another node",
    footer = {
      "",
      "A token lets one node join, and names the cluster: a machine that pretends to be of it is",
      "refused. The first three nodes store the state of the cluster."
    })
public final class ClusterJoinCommand extends AnswerCommand {
  @Parameters(paramLabel = "ADDRESS", description = "A node that stores the state of the cluster")
  private String address = "";

  @Option(names = "--token", paramLabel = "TOKEN", description = "Token of 'zlayer cluster token'")
  private @Nullable String token;

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

  @Option(names = "--server", description = "Store the state of the cluster on this node, too")
  private boolean server;

  public ClusterJoinCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (token == null) {
      throw new AgentException.InvalidSpec(
          "--token is missing; 'zlayer cluster token' on a node of the cluster makes one");
    }
    Json answer =
        client.post(
            "/cluster/join",
            Query.NONE,
            Json.object()
                .put("through", address)
                .put("token", token)
                .putIf("name", Optional.ofNullable(name))
                .putIf("advertise", Optional.ofNullable(advertise))
                .putIf("server", server ? Optional.of(true) : Optional.empty())
                .build());
    show(answer, () -> joined(answer));
    return 0;
  }

  private static String joined(Json answer) {
    return answer
        .at("problem")
        .string()
        .map(problem -> "node '%s' joined; still: %s\n".formatted(text(answer, "name"), problem))
        .orElseGet(() -> "node '%s' joined\n".formatted(text(answer, "name")));
  }
}

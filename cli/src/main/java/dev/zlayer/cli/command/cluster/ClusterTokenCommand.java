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

@Command(name = "token", description = "Create a token with which one node can join")
public final class ClusterTokenCommand extends AnswerCommand {
  @Option(
      names = "--expires",
      paramLabel = "DURATION",
      description = "Time until it expires, e.g. 30m (default: 1h)")
  private @Nullable String expires;

  public ClusterTokenCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer =
        client.post(
            "/cluster/tokens",
            Query.NONE,
            Json.object().putIf("expires", Optional.ofNullable(expires)).build());
    show(answer, () -> text(answer));
    return 0;
  }

  static String text(Json answer) {
    return "to add one node to the cluster, run there:\n\n  %s\n\n"
        .formatted(text(answer, "command"));
  }
}

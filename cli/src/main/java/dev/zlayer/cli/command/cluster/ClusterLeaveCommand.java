package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "leave", description = "Take this node out of its cluster; containers keep running")
public final class ClusterLeaveCommand extends ClientCommand {
  @Option(
      names = "--force",
      description =
          "Also when the cluster cannot be reached; remove the node there with 'zlayer node rm'")
  private boolean force;

  public ClusterLeaveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json _ = client.post("/cluster/leave", Query.NONE, Json.object().put("force", force).build());
    print("this node left the cluster");
    return 0;
  }
}

package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "cordon", description = "Give nodes no new replicas; they keep those they have")
public final class NodeCordonCommand extends ClientCommand {

  @Parameters(paramLabel = "NODE", arity = "1..*", description = "Names or ids")
  private List<String> nodes = List.of();

  public NodeCordonCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    Json change = Json.object().put("scheduling", "cordoned").build();
    return forEach(
        nodes,
        name -> {
          Json _ = client.post("/nodes/" + Query.segment(name) + "/scheduling", Query.NONE, change);
          print(name);
        });
  }
}

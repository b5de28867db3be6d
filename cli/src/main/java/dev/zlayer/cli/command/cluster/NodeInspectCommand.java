package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "inspect", description = "Print everything about nodes; always prints JSON")
public final class NodeInspectCommand extends ClientCommand {
  @Parameters(paramLabel = "NODE", arity = "1..*", description = "Names or ids")
  private List<String> nodes = List.of();

  public NodeInspectCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    var found = new ArrayList<Json>();
    int code = forEach(nodes, name -> found.add(client.get("/nodes/" + Query.segment(name))));
    session.out().print(JsonText.pretty(Json.of(found)));
    return code;
  }
}

package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "rotate-certs",
    description = "Give nodes new keys and certificates, and revoke the old ones",
    footer = {
      "",
      "Nodes do so by themselves after two thirds of the time for which a certificate is valid.",
      "Nothing is restarted, and open connections stay."
    })
public final class ClusterRotateCertsCommand extends ClientCommand {
  @Parameters(paramLabel = "NODE", arity = "0..*", description = "Names or ids (default: all)")
  private List<String> nodes = List.of();

  public ClusterRotateCertsCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    List<String> names =
        nodes.isEmpty()
            ? client.get("/nodes").items().stream()
                .map(node -> node.at("name").string().orElse(""))
                .toList()
            : nodes;
    return forEach(
        names,
        name -> {
          Json made = client.post("/nodes/" + Query.segment(name) + "/certificate", Query.NONE);
          print(
              "%s: valid until %s"
                  .formatted(
                      made.at("node").string().orElse(name),
                      made.at("not_after").string().orElse("?")));
        });
  }
}

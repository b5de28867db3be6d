package dev.zlayer.cli.command.system;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Command;

@Command(
    name = "prune",
    description = "Remove stopped containers, after showing them",
    footer = {"", "Containers of deployments are kept: 'zlayer down' removes them."})
public final class ContainerPruneCommand extends PruneCommand {
  public ContainerPruneCommand(Session session) {
    super(session);
  }

  @Override
  List<String> preview(Unused unused) {
    return unused.stopped().stream().map(one -> "container " + text(one, "name")).toList();
  }

  @Override
  Json prune(DaemonClient client, Unused unused) throws InterruptedException {
    return Json.object().put("containers", Json.of(removeAll(client, unused.stopped()))).build();
  }
}

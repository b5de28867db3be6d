package dev.zlayer.cli.command.cluster;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Remove nodes that are lost for good; one that is alive leaves by itself")
public final class NodeRemoveCommand extends ClientCommand {
  @Parameters(paramLabel = "NODE", arity = "1..*", description = "Names or ids")
  private List<String> nodes = List.of();

  @Option(
      names = {"-f", "--force"},
      description = "Also when it is alive: it is refused everywhere from now on")
  private boolean force;

  public NodeRemoveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        nodes,
        name -> {
          client.delete("/nodes/" + Query.segment(name), Query.NONE.flag("force", force));
          print(name);
        });
  }
}

package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.JsonText;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "inspect",
    description = "Show a network and the addresses of its containers; always prints JSON")
public final class NetworkInspectCommand extends AnswerCommand {
  @Parameters(paramLabel = "NETWORK", description = "Network name")
  private String name = "";

  public NetworkInspectCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    session.out().print(JsonText.pretty(client.get("/networks/" + Query.segment(name))));
    return 0;
  }
}

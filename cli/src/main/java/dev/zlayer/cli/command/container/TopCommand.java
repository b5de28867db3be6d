package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "top", description = "Show the processes of a container")
public final class TopCommand extends AnswerCommand {
  @Parameters(
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  public TopCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get(Target.parse(name).path() + "/top");
    show(answer, () -> table(answer).toString());
    return 0;
  }

  private static Table table(Json answer) {
    var table = new Table(answer.at("titles").strings().toArray(String[]::new));
    answer.at("rows").items().forEach(row -> table.row(row.strings().toArray(String[]::new)));
    return table;
  }
}

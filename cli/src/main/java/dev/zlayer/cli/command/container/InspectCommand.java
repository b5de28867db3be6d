package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "inspect", description = "Show container details; always prints JSON")
public final class InspectCommand extends AnswerCommand {
  @Parameters(
      paramLabel = "CONTAINER",
      arity = "1..*",
      description = "Container as deployment/service[/replica], name or id")
  private List<String> names = List.of();

  public InspectCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    var found = new ArrayList<Json>();
    int code = forEach(names, name -> found.add(client.get(Target.parse(name).path())));
    boolean several = names.size() > 1;
    if (several || !found.isEmpty()) {
      session.out().print(JsonText.pretty(several ? Json.of(found) : found.getFirst()));
    }
    return code;
  }
}

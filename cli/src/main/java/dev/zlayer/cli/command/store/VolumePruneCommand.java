package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;

@Command(name = "prune", description = "Remove unused volumes")
public final class VolumePruneCommand extends AnswerCommand {
  public VolumePruneCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.post("/volumes/prune", Query.NONE);
    show(answer, () -> text(answer));
    return 0;
  }

  private static String text(Json answer) {
    var text = new StringBuilder();
    long bytes = 0;
    for (Json gone : answer.items()) {
      text.append("removed ").append(text(gone, "name")).append('\n');
      bytes += gone.at("size").integer().orElse(0L);
    }
    return text.append("reclaimed ").append(HumanUnits.bytes(bytes)).append('\n').toString();
  }
}

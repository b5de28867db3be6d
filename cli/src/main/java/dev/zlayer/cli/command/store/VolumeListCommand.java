package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "ls", aliases = "list", description = "List volumes with their size and users")
public final class VolumeListCommand extends AnswerCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Print names only")
  private boolean quiet;

  public VolumeListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/volumes" + Query.NONE.flag("size", json || !quiet));
    if (quiet && !json) {
      items(answer, "volumes").forEach(volume -> print(text(volume, "name")));
    } else {
      show(answer, () -> table(answer).toString());
    }
    return 0;
  }

  private static Table table(Json answer) {
    var table = new Table("VOLUME", "SIZE", "USED BY");
    for (Json volume : items(answer, "volumes")) {
      table.row(
          text(volume, "name"), size(volume), String.join(", ", volume.at("used_by").strings()));
    }
    return table;
  }

  /** Of a volume that could not be added up in time it is known that there is more. */
  private static String size(Json volume) {
    String known = volume.at("size").integer().map(HumanUnits::bytes).orElse("-");
    return volume.at("complete").bool().orElse(true) ? known : "> " + known;
  }
}

package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.ContainerTable;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
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
    List<Json> volumes = items(answer, "volumes");
    boolean nodes = ContainerTable.onNodes(volumes);
    var table =
        nodes
            ? new Table("VOLUME", "NODE", "SIZE", "USED BY")
            : new Table("VOLUME", "SIZE", "USED BY");
    for (Json volume : volumes) {
      var cells =
          new ArrayList<>(
              List.of(
                  text(volume, "name"),
                  size(volume),
                  String.join(", ", volume.at("used_by").strings())));
      if (nodes) {
        cells.add(1, text(volume, "node"));
      }
      table.row(cells.toArray(String[]::new));
    }
    return table;
  }

  /** Of a volume that could not be added up in time it is known that there is more. */
  private static String size(Json volume) {
    String known = volume.at("size").integer().map(HumanUnits::bytes).orElse("-");
    return volume.at("complete").bool().orElse(true) ? known : "> " + known;
  }
}

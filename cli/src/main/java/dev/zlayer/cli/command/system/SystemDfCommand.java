package dev.zlayer.cli.command.system;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.List;
import picocli.CommandLine.Command;

@Command(
    name = "df",
    description = "Show how much space images and volumes take",
    footer = {"", "RECLAIMABLE is what 'zlayer system prune --all --volumes' would free."})
public final class SystemDfCommand extends AnswerCommand {
  public SystemDfCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    var unused = Unused.of(client);
    List<Json> rows =
        List.of(
            row("images", unused.images(), unused.images(true)),
            row("containers", unused.containers(), unused.stopped()),
            row("volumes", unused.volumes(), unused.unwanted()));
    show(Json.of(rows), () -> table(rows));
    return 0;
  }

  private static Json row(String type, List<Json> all, List<Json> unused) {
    return Json.object()
        .put("type", type)
        .put("total", all.size())
        .put("active", all.size() - unused.size())
        .put("size", Unused.bytes(all))
        .put("reclaimable", Unused.bytes(unused))
        .build();
  }

  private static String table(List<Json> rows) {
    var table = new Table("TYPE", "TOTAL", "ACTIVE", "SIZE", "RECLAIMABLE");
    for (Json row : rows) {
      boolean sized = !text(row, "type").equals("containers");
      table.row(
          text(row, "type"),
          number(row, "total"),
          number(row, "active"),
          sized ? HumanUnits.bytes(row.at("size").integer().orElse(0L)) : "-",
          sized ? HumanUnits.bytes(row.at("reclaimable").integer().orElse(0L)) : "-");
    }
    return table.toString();
  }
}
